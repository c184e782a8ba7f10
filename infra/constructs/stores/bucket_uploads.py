"""Uploads while deploying, into a bucket of ours. Nothing is ever removed there."""

from typing import Final

from aws_cdk import Size, Stack
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_s3_deployment as deployment
from constructs import Construct

from infra.constructs.platform_stack import log_group
from infra.constructs.rights import BASIC_LAMBDA_POLICY, seen_arn, suppress

_BY_CDK: Final = (
    "CDK's own function, which copies code and flows while deploying, from the bucket of the "
    "deploy's uploads to ours; what it may do is CDK's choice, and both hold nothing but these."
)
_ITS_ACTIONS: Final = (
    "kms:GenerateDataKey*",
    "kms:ReEncrypt*",
    "s3:Abort*",
    "s3:DeleteObject*",
    "s3:GetBucket*",
    "s3:GetObject*",
    "s3:List*",
)


class BucketUploads(Construct):
    """All uploads of a stack: CDK has one function for them, and so one log group."""

    def __init__(self, scope: Construct, name: str, *, bucket: s3.Bucket) -> None:
        super().__init__(scope, name)
        self.bucket = bucket
        self._logs = log_group(self, "Logs")

    def add(
        self, name: str, *sources: deployment.ISource, prefix: str
    ) -> deployment.BucketDeployment:
        """Upload what ``sources`` hold, under ``prefix``.

        What was uploaded before stays: something may still run with it, or be rolled back to it.
        """
        uploaded = deployment.BucketDeployment(
            self,
            name,
            sources=list(sources),
            destination_bucket=self.bucket,
            destination_key_prefix=prefix,
            prune=False,
            retain_on_delete=True,
            memory_limit=512,
            ephemeral_storage_size=Size.gibibytes(2),  # for an upload, packed and unpacked
            log_group=self._logs,
        )
        stack = Stack.of(self)
        uploads = f"arn:aws:s3:::cdk-hnb659fds-assets-<AWS::AccountId>-{stack.region}/*"
        ours = f"{seen_arn(self.bucket, self.bucket.bucket_arn, reader=self)}/*"
        function = next(one for one in stack.node.children if "BucketDeployment" in one.node.id)
        suppress(function, "L1", _BY_CDK)
        suppress(function, BASIC_LAMBDA_POLICY, _BY_CDK)
        for resource in (uploads, ours):
            suppress(function, f"IAM5[Resource::{resource}]", _BY_CDK)
        for action in _ITS_ACTIONS:
            suppress(function, f"IAM5[Action::{action}]", _BY_CDK)
        return uploaded
