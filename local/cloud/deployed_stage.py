"""What a deploy of the local stage made: names, addresses, and the jobs' code."""

import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import boto3

from fleetlane.events.errors import FleetlaneError
from fleetlane.events.stage_resources import StageResources, parameter_name
from local.cloud.cdk import Outputs
from local.spark.jobs import DeployedCode
from operations.endpoints import LOCAL_STAGE

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


class OutputMissingError(FleetlaneError):
    """The stacks lack an output that is needed."""

    reason = "output_missing"
    name: str
    sentence = "no stack of the local stage has an output {name}"


def stage_resources(aws: Mapping[str, Any]) -> StageResources:
    """Read what the deploy wrote about the stage.

    Raises:
        BadStageResourcesError: It cannot be read.
    """
    ssm = boto3.client("ssm", **aws)
    found = ssm.get_parameter(Name=parameter_name(LOCAL_STAGE))
    return StageResources.from_json(found["Parameter"]["Value"])


def api_path(outputs: Outputs) -> str:
    """Where the API is on LocalStack's own address; raises ``OutputMissingError``."""
    api_stage = urlsplit(_output(outputs, "ApiUrl")).path.strip("/")
    return f"/_aws/execute-api/{_output(outputs, 'ApiId')}/{api_stage}"


def fetched_job_code(outputs: Outputs, s3: "S3Client", folder: Path) -> DeployedCode:
    """Fetch the jobs' code from where the deploy put it; the packages are unpacked.

    Raises:
        OutputMissingError: The stacks do not say where it is.
    """

    def fetched(name: str, path: Path) -> Path:
        url = urlsplit(_output(outputs, name))
        s3.download_file(url.netloc, url.path.lstrip("/"), str(path))
        return path

    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(fetched("JobsCodePackagesUrl", folder / "packages.zip")) as archive:
        archive.extractall(folder / "packages")
    return DeployedCode(
        script=fetched("JobsCodeScriptUrl", folder / "host.py"),
        archive=fetched("JobsCodeArchiveUrl", folder / "fleetlane-jobs.zip"),
        packages=folder / "packages",
    )


def _output(outputs: Outputs, name: str) -> str:
    """By name, in any stack; the CDK adds a hash to the names of those inside a construct."""
    every = {found: value for stack in outputs.values() for found, value in stack.items()}
    value = next((every[found] for found in sorted(every) if found.startswith(name)), None)
    if value is None:
        raise OutputMissingError(name)
    return value
