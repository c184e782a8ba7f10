"""Uploads while deploying, and the Spark jobs' code among them, as the engines want it."""

from typing import Final

from aws_cdk import CfnOutput, FileSystem, Size, Stack
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_s3_assets as assets
from aws_cdk import aws_s3_deployment as deployment
from constructs import Construct

from infra.artifacts import folder
from infra.constructs.platform_stack import log_group
from infra.constructs.rights import BASIC_LAMBDA_POLICY, seen_arn, suppress

_BY_CDK: Final = (
    "CDK's own function, which copies code and flows while deploying, from the bucket of the "
    "deploy's uploads to ours; what it may do is CDK's choice, and both hold nothing but these."
)
_ITS_ACTIONS: Final = (
    *("kms:GenerateDataKey*", "kms:ReEncrypt*", "s3:Abort*", "s3:DeleteObject*"),
    *("s3:GetBucket*", "s3:GetObject*", "s3:List*"),
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
        suppress(function, _BY_CDK, "L1", BASIC_LAMBDA_POLICY)
        suppress(function, _BY_CDK, *(f"IAM5[Resource::{one}]" for one in (uploads, ours)))
        suppress(function, _BY_CDK, *(f"IAM5[Action::{one}]" for one in _ITS_ACTIONS))
        return uploaded


JOBS_CODE: Final = "jobs/"


def add_local_jobs_code(scope: Construct, artifacts: folder.Artifacts) -> None:
    """The code where the deploy puts assets; its outputs say where a laptop finds it."""
    code = Construct(scope, "JobsCode")
    files = (folder.SCRIPT, folder.SOURCES, folder.PACKAGES)
    for what, file in zip(("Script", "Archive", "Packages"), files, strict=True):
        asset = assets.Asset(code, what, path=str(artifacts.job_file(file)))
        CfnOutput(code, f"{what}Url", value=asset.s3_object_url)


class JobsCode:
    """The code in a bucket, in a folder that is named for its content.

    The engines start ``script_url``, which imports ``sources_url``. ``wheels_url`` is what our code
    imports and Glue does not bring, in the form that it installs; ``environment_url`` all packages,
    to be unpacked onto the path, and ``python_in_environment`` the Python among them, if one is.
    ``kafka_jar_urls`` are how Spark reaches Kafka, in place of what an engine may bring;
    ``iceberg_jar_url`` is for an engine that is not asked for its own.
    """

    def __init__(self, uploads: BucketUploads, *, artifacts: folder.Artifacts) -> None:
        code = str(artifacts.jobs_folder())
        prefix = f"{JOBS_CODE}{FileSystem.fingerprint(code)[:16]}"
        url = f"s3://{uploads.bucket.bucket_name}/{prefix}"
        self.script_url, self.sources_url = f"{url}/{folder.SCRIPT}", f"{url}/{folder.SOURCES}"
        self.wheels_url = f"{url}/{folder.PACKAGES_AS_WHEELS}"
        self.environment_url = f"{url}/{folder.ENVIRONMENT}"
        self.python_in_environment = folder.PYTHON if artifacts.has_python() else None
        urls = {jar: f"{url}/{folder.JARS}/{jar}" for jar in artifacts.jars()}
        [iceberg] = [jar for jar in urls if jar.startswith(folder.ICEBERG)]
        self.iceberg_jar_url = urls.pop(iceberg)
        self.kafka_jar_urls = tuple(urls.values())
        self.uploaded = uploads.add("Jobs", deployment.Source.asset(code), prefix=prefix)
