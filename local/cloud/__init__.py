"""The local stage: deployed into LocalStack by a plain ``cdk deploy``, with the real broker."""
