"""Published flows and parser artifacts in S3."""
