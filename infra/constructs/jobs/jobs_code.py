"""The Spark jobs' code, uploaded as it was built, under the names that the engines demand."""

from typing import Final

from aws_cdk import CfnOutput, FileSystem
from aws_cdk import aws_s3_assets as assets
from aws_cdk import aws_s3_deployment as deployment
from constructs import Construct

from infra.artifacts.folder import (
    ENVIRONMENT,
    ICEBERG,
    JARS,
    PACKAGES,
    PACKAGES_AS_WHEELS,
    PYTHON,
    SCRIPT,
    SOURCES,
    Artifacts,
)
from infra.constructs.stores.bucket_uploads import BucketUploads

JOBS_CODE: Final = "jobs/"


class LocalJobsCode(Construct):
    """The code where the deploy puts assets; its outputs say where a laptop finds it."""

    def __init__(self, scope: Construct, name: str, *, artifacts: Artifacts) -> None:
        super().__init__(scope, name)
        for what, file in {"Script": SCRIPT, "Archive": SOURCES, "Packages": PACKAGES}.items():
            asset = assets.Asset(self, what, path=str(artifacts.job_file(file)))
            CfnOutput(self, f"{what}Url", value=asset.s3_object_url)


class JobsCode:
    """The code in a bucket, in a folder that is named for its content.

    The engines start ``script_url``, which imports ``sources_url``. ``wheels_url`` is what our code
    imports and Glue does not bring, in the form that it installs; ``environment_url`` all packages,
    to be unpacked onto the path, and ``python_in_environment`` the Python among them, if one is.
    ``kafka_jar_urls`` are how Spark reaches Kafka, in place of what an engine may bring;
    ``iceberg_jar_url`` is for an engine that is not asked for its own.
    """

    def __init__(self, uploads: BucketUploads, *, artifacts: Artifacts) -> None:
        folder = str(artifacts.jobs_folder())
        prefix = f"{JOBS_CODE}{FileSystem.fingerprint(folder)[:16]}"
        url = f"s3://{uploads.bucket.bucket_name}/{prefix}"
        self.script_url, self.sources_url = f"{url}/{SCRIPT}", f"{url}/{SOURCES}"
        self.wheels_url = f"{url}/{PACKAGES_AS_WHEELS}"
        self.environment_url = f"{url}/{ENVIRONMENT}"
        self.python_in_environment = PYTHON if artifacts.has_python() else None
        urls = {jar: f"{url}/{JARS}/{jar}" for jar in artifacts.jars()}
        [iceberg] = [jar for jar in urls if jar.startswith(ICEBERG)]
        self.iceberg_jar_url = urls.pop(iceberg)
        self.kafka_jar_urls = tuple(urls.values())
        self.uploaded = uploads.add("Jobs", deployment.Source.asset(folder), prefix=prefix)
