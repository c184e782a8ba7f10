"""What several functions, jobs and commands talk through: Kafka, S3, DynamoDB."""
