"""Bodies too large for the API: devices upload them to S3, and their references land in Kafka."""
