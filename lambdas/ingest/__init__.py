"""Landing what devices send: in Kafka, in S3 with a reference in Kafka, or in the spool."""
