"""The local stage, from nothing: built, deployed, with its flows active and its jobs running."""

import zipfile
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import boto3

from clients.aws import S3Client
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.flows.files import flows_in
from fleetlane.events.stage_resources import StageResources
from fleetlane.parsers.artifacts.building import Platform
from infra.artifacts.build import build
from local.checkout import BROKER_JARS, FLOWS, LOCALSTACK_ENVIRONMENT, ROOT
from local.cloud.cdk import Cdk
from local.flow_activation import deploy_example
from local.servers.kafka import KafkaBroker
from local.servers.localstack import CLOUD, LocalAws
from local.servers.processes import ServerProcess
from local.spark.jobs import DeployedCode, JobSettings, LocalJobs, LocalLake
from operations.endpoints import LOCAL_STAGE, localstack_at
from operations.flows.publisher import FlowPublisher, activate_by_function
from operations.platform import deployed_resources

ARTIFACTS: Final = ROOT / "build" / "artifacts-local"


class OutputMissingError(FleetlaneError):
    """The stacks lack an output that is needed."""

    name: str
    sentence = "no stack of the local stage has an output {name}"


def fetched_job_code(outputs: Mapping[str, str], s3: S3Client, folder: Path) -> DeployedCode:
    """Fetch the jobs' code from where the deploy put it; the packages are unpacked."""

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


def _output(outputs: Mapping[str, str], name: str) -> str:
    """By name; the CDK adds a hash to the names of those inside a construct."""
    value = next((outputs[found] for found in sorted(outputs) if found.startswith(name)), None)
    if value is None:
        raise OutputMissingError(name)
    return value


class LocalCloud(AbstractContextManager["LocalCloud"]):
    """A deployed local stage with Kafka and Spark beside it; a context manager that stops all.

    ``resources``, ``publisher`` and ``api_url``, where ``/v1/…`` is, are known once started.
    """

    resources: StageResources
    api_url: str
    publisher: FlowPublisher

    def __init__(self, folder: Path, *, has_lake: bool = False) -> None:
        """Use an empty folder of its own; without ``has_lake`` no job writes the lake."""
        folder = self._folder = folder.resolve()
        self._has_lake = has_lake
        self._broker = KafkaBroker(folder / "kafka", jars=BROKER_JARS)
        self._aws = LocalAws(folder / "aws", environment=LOCALSTACK_ENVIRONMENT, services=CLOUD)
        self.lake = LocalLake(folder / "lake")
        self._started: list[ServerProcess] = []

    def start(self, on_step: Callable[[str], None]) -> None:
        """Bring all of it up; calls ``on_step`` before each step. Blocks for a minute or more.

        Raises a ``FleetlaneError`` where a part does not start, or the stage or a flow is refused.
        """
        flows = flows_in(FLOWS)
        on_step("artifacts for this machine; Kafka broker; LocalStack, and cdk bootstrap")
        with ThreadPoolExecutor(3) as pool:
            parts: list[Future[Any]] = [
                pool.submit(lambda: list(build(ROOT, ARTIFACTS, Platform.HOST))),
                pool.submit(self._start_part, self._broker),
                pool.submit(self._start_aws),
            ]
            for part in parts:
                part.result()
        on_step("cdk deploy")
        self.deploy()
        outputs = self._cdk.outputs()
        aws = localstack_at(self._aws.endpoint_url)
        self.resources = deployed_resources(LOCAL_STAGE, aws)
        api_id, path = _output(outputs, "ApiId"), urlsplit(_output(outputs, "ApiUrl")).path
        self.api_url = f"{self._aws.endpoint_url}/_aws/execute-api/{api_id}/{path.strip('/')}"
        on_step("parsers and flows, by the function that was deployed")
        activate = partial(activate_by_function, aws, self.resources.flow_activation_function)
        self.publisher = FlowPublisher(self.s3, self.resources.flows_bucket, activate)
        deploy_example(self.publisher.parsers)
        self.publisher.publish(flows.values())
        on_step("Spark jobs, by the code that was uploaded")
        code = fetched_job_code(outputs, self.s3, self._folder / "jobs" / "code")
        settings = self._job_settings()
        for is_lake in (False, True) if self._has_lake else (False,):
            self._start_part(LocalJobs(settings, code, is_lake=is_lake))

    def deploy(self) -> str:
        """Deploy the checkout as it is now, artifacts as they were built; once more is fine.

        Returns what the CDK printed.
        """
        context = {"stage": "local", "kafka": self.bootstrap_servers, "artifacts": str(ARTIFACTS)}
        return self._cdk.deploy(context)

    def stop(self) -> None:
        """Kill all parts, last first: nothing of it is to be used again."""
        while self._started:
            self._started.pop().kill()

    @property
    def bootstrap_servers(self) -> str:
        return self._broker.bootstrap_servers

    @property
    def aws_settings(self) -> dict[str, Any]:
        return self._aws.client_settings

    @property
    def s3(self) -> S3Client:
        return boto3.client("s3", **self.aws_settings)

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _start_aws(self) -> None:
        self._start_part(self._aws)
        self._cdk.bootstrap()

    def _start_part(self, part: ServerProcess) -> None:
        self._started.append(part)
        part.start()

    @property
    def _cdk(self) -> Cdk:
        return Cdk(self._folder / "cdk", self.aws_settings)

    def _job_settings(self) -> JobSettings:
        self.lake.folder.mkdir()  # SQLite makes the catalog's file, not its folder
        return JobSettings(
            folder=self._folder / "jobs",
            resources=self.resources,
            lake=self.lake,
            environment=self._aws.client_environment,
        )
