"""Messages in Kafka and S3: one message's history, parked messages, payloads."""
