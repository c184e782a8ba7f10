"""What a deploy of the local stage outputs: names, addresses, and where the jobs' code is."""

import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self
from urllib.parse import urlsplit

from fleetlane.events.errors import FleetlaneError
from local.cloud.cdk import Outputs
from local.spark.jobs import DeployedCode

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


class OutputMissingError(FleetlaneError):
    """The stacks lack an output that is needed."""

    reason = "output_missing"
    name: str
    sentence = "no stack of the local stage has an output {name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeployedStage:
    """Where things are. ``api_path`` is the API's, on LocalStack's own address."""

    api_path: str
    flow_activation: str
    registry_table: str
    payload_bucket: str
    parked_bucket: str
    flows_bucket: str
    lake_bucket: str
    job_script_url: str
    job_archive_url: str
    job_packages_url: str

    @classmethod
    def of(cls, outputs: Outputs) -> Self:
        """Read the outputs of all stacks.

        Raises:
            OutputMissingError: One is missing.
        """
        every = {name: value for stack in outputs.values() for name, value in stack.items()}
        api_stage = urlsplit(_output(every, "ApiUrl")).path.strip("/")
        return cls(
            api_path=f"/_aws/execute-api/{_output(every, 'ApiId')}/{api_stage}",
            flow_activation=_output(every, "FlowActivationFunction"),
            registry_table=_output(every, "RegistryTableName"),
            payload_bucket=_output(every, "PayloadBucketName"),
            parked_bucket=_output(every, "ParkedBucketName"),
            flows_bucket=_output(every, "FlowsBucketName"),
            lake_bucket=_output(every, "LakeBucketName"),
            job_script_url=_output(every, "JobsCodeScriptUrl"),
            job_archive_url=_output(every, "JobsCodeArchiveUrl"),
            job_packages_url=_output(every, "JobsCodePackagesUrl"),
        )

    def job_code(self, s3: "S3Client", folder: Path) -> DeployedCode:
        """Fetch the jobs' code from where the deploy put it; the packages are unpacked."""
        folder.mkdir(parents=True, exist_ok=True)
        zipped = _fetched(s3, self.job_packages_url, folder / "packages.zip")
        with zipfile.ZipFile(zipped) as archive:
            archive.extractall(folder / "packages")
        return DeployedCode(
            script=_fetched(s3, self.job_script_url, folder / "host.py"),
            archive=_fetched(s3, self.job_archive_url, folder / "fleetlane-jobs.zip"),
            packages=folder / "packages",
        )


def _fetched(s3: "S3Client", url: str, path: Path) -> Path:
    place = urlsplit(url)
    s3.download_file(place.netloc, place.path.lstrip("/"), str(path))
    return path


def _output(outputs: Mapping[str, str], name: str) -> str:
    """By name; the CDK adds a hash to the names of those inside a construct."""
    value = next((outputs[found] for found in sorted(outputs) if found.startswith(name)), None)
    if value is None:
        raise OutputMissingError(name)
    return value
