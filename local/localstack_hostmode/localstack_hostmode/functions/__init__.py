"""Lambda functions as processes of this machine: LocalStack itself would start containers."""
