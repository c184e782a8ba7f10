"""The platform in AWS, as one CDK app: ``cdk deploy -c stage=dev --all``."""
