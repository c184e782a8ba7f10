"""The Spark jobs' code, uploaded as it was built, under the names that the engines demand."""

from typing import Final

from aws_cdk import CfnOutput, FileSystem, RemovalPolicy, Stack
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_s3_assets as assets
from aws_cdk import aws_s3_deployment as deployment
from constructs import Construct

from infra.artifacts_folder import PACKAGES, PACKAGES_AS_WHEELS, SCRIPT, SOURCES, Artifacts
from infra.explained import BASIC_LAMBDA_POLICY, explain, seen_arn
from infra.log_retention import retention_of

_BY_CDK: Final = (
    "CDK's own function, which copies the jobs' code while deploying, from the bucket of the "
    "deploy's uploads to ours; what it may do is CDK's choice, and both hold nothing but code."
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


class LocalJobsCode(Construct):
    """The code where the deploy puts assets; its outputs say where a laptop finds it."""

    def __init__(self, scope: Construct, name: str, *, artifacts: Artifacts) -> None:
        super().__init__(scope, name)
        for what, file in {"Script": SCRIPT, "Archive": SOURCES, "Packages": PACKAGES}.items():
            asset = assets.Asset(self, what, path=str(artifacts.job_file(file)))
            CfnOutput(self, f"{what}Url", value=asset.s3_object_url)


class JobsCode(Construct):
    """The code in the artifacts bucket, in a folder that is named for its content.

    Nothing is removed there: a job that runs can start again, and a deploy can be rolled back.
    """

    def __init__(
        self,
        scope: Construct,
        name: str,
        *,
        artifacts: Artifacts,
        bucket: s3.Bucket,
        log_retention_days: int,
    ) -> None:
        super().__init__(scope, name)
        folder = artifacts.jobs_folder()
        prefix = f"jobs/{FileSystem.fingerprint(str(folder))[:16]}"
        self._url = f"s3://{bucket.bucket_name}/{prefix}"
        self.uploaded = deployment.BucketDeployment(
            self,
            "Upload",
            sources=[deployment.Source.asset(str(folder))],
            destination_bucket=bucket,
            destination_key_prefix=prefix,
            prune=False,
            retain_on_delete=True,
            memory_limit=512,
            log_group=logs.LogGroup(
                self,
                "Logs",
                retention=retention_of(log_retention_days),
                removal_policy=RemovalPolicy.DESTROY,
            ),
        )
        self._explain_upload(bucket)

    @property
    def script_url(self) -> str:
        """What the engines start."""
        return f"{self._url}/{SCRIPT}"

    @property
    def sources_url(self) -> str:
        """All of our own that it imports."""
        return f"{self._url}/{SOURCES}"

    @property
    def packages_url(self) -> str:
        """What our code imports and the engines do not bring; to be unpacked onto the path."""
        return f"{self._url}/{PACKAGES}"

    @property
    def wheels_url(self) -> str:
        """The same, in the form that Glue installs."""
        return f"{self._url}/{PACKAGES_AS_WHEELS}"

    def _explain_upload(self, bucket: s3.Bucket) -> None:
        stack = Stack.of(self)
        uploads = f"arn:aws:s3:::cdk-hnb659fds-assets-<AWS::AccountId>-{stack.region}/*"
        ours = f"{seen_arn(bucket, bucket.bucket_arn, reader=self)}/*"
        function = next(one for one in stack.node.children if "BucketDeployment" in one.node.id)
        explain(function, "L1", _BY_CDK)
        explain(function, BASIC_LAMBDA_POLICY, _BY_CDK)
        for resource in (uploads, ours):
            explain(function, f"IAM5[Resource::{resource}]", _BY_CDK)
        for action in _ITS_ACTIONS:
            explain(function, f"IAM5[Action::{action}]", _BY_CDK)
