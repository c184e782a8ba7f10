"""Landing what devices send: in Kafka, or in S3 with a reference in Kafka."""
