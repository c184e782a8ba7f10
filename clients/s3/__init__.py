"""What is stored in S3: payloads, spool, uploads, leases, and small objects that coordinate."""
