"""The local stage, from nothing: built, deployed, with its flows active and its jobs running."""

import shutil
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from operator import call
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import boto3

from clients.aws import S3Client
from fleetlane.events.flows.files import flows_in
from fleetlane.events.stage_resources import StageResources
from fleetlane.parsers.artifacts.building import Platform
from infra.artifacts.build import build
from local.checkout import BROKER_JARS, FLOWS, LOCALSTACK_ENVIRONMENT, ROOT
from local.cloud.cdk import Cdk
from local.flow_activation import deploy_example
from local.servers.kafka import KafkaBroker
from local.servers.localstack import LocalAws
from local.servers.processes import ServerProcess
from local.spark import jobs
from operations.endpoints import LOCAL_STAGE, localstack_at
from operations.flows.publisher import FlowPublisher, activate_by_function
from operations.platform import deployed_resources

ARTIFACTS: Final = ROOT / "build" / "artifacts-local"


def fetch_job_code(outputs: Mapping[str, str], s3: S3Client, folder: Path) -> None:
    """Fetch the jobs' code from where the deploy put it; the packages are unpacked."""
    folder.mkdir(parents=True)
    script, archive, packages = jobs.CODE_SCRIPT, jobs.CODE_ARCHIVE, f"{jobs.CODE_PACKAGES}.zip"
    for part, file in (("Script", script), ("Archive", archive), ("Packages", packages)):
        url = urlsplit(_output(outputs, f"JobsCode{part}Url"))
        s3.download_file(url.netloc, url.path.lstrip("/"), str(folder / file))
    shutil.unpack_archive(folder / packages, folder / jobs.CODE_PACKAGES)


def _output(outputs: Mapping[str, str], name: str) -> str:
    """By name; the CDK adds a hash to the names of those inside a construct."""
    return next(outputs[found] for found in sorted(outputs) if found.startswith(name))


class LocalCloud(ExitStack):
    """A deployed local stage with Kafka and Spark beside it; a context manager that stops all.

    It kills its parts, last first: nothing of them is to be used again. ``resources``,
    ``publisher`` and ``api_url``, where ``/v1/…`` is, are known once started.
    """

    resources: StageResources
    api_url: str
    publisher: FlowPublisher

    def __init__(self, folder: Path, *, has_lake: bool = False) -> None:
        """Use an empty folder of its own; without ``has_lake`` no job writes the lake."""
        super().__init__()
        folder = self._folder = folder.resolve()
        self._has_lake = has_lake
        self.broker = KafkaBroker(folder / "kafka", jars=BROKER_JARS)
        self.aws = LocalAws(folder / "aws", environment=LOCALSTACK_ENVIRONMENT, services="cloud")
        self.lake = jobs.LocalLake(folder / "lake")

    def start(self, on_step: Callable[[str], None]) -> None:
        """Bring all of it up; calls ``on_step`` before each step. Blocks for a minute or more.

        Raises a ``FleetlaneError`` where a part does not start, or the stage or a flow is refused.
        """
        flows = flows_in(FLOWS)
        on_step("artifacts for this machine; Kafka broker; LocalStack, and cdk bootstrap")
        with ThreadPoolExecutor(3) as pool:
            parts: list[Callable[[], object]] = [
                lambda: list(build(ROOT, ARTIFACTS, Platform.HOST)),
                lambda: self._start_part(self.broker),
                self._start_aws,
            ]
            list(pool.map(call, parts))
        on_step("cdk deploy")
        self.deploy()
        outputs = self._cdk.outputs()
        aws = localstack_at(self.aws.endpoint_url)
        self.resources = deployed_resources(LOCAL_STAGE, aws)
        api_id, path = _output(outputs, "ApiId"), urlsplit(_output(outputs, "ApiUrl")).path
        self.api_url = f"{self.aws.endpoint_url}/_aws/execute-api/{api_id}/{path.strip('/')}"
        on_step("parsers and flows, by the function that was deployed")
        activate = partial(activate_by_function, aws, self.resources.flow_activation_function)
        self.publisher = FlowPublisher(self.s3, self.resources.flows_bucket, activate)
        deploy_example(self.publisher.parsers)
        self.publisher.publish(flows.values())
        on_step("Spark jobs, by the code that was uploaded")
        code = self._folder / "jobs" / "code"
        fetch_job_code(outputs, self.s3, code)
        settings = self._job_settings()
        for application in settings.jobs:
            self._start_part(jobs.LocalJobs(settings, application, code))

    def deploy(self) -> str:
        """Deploy the checkout as it is now, artifacts as they were built; once more is fine.

        Returns what the CDK printed.
        """
        servers = self.broker.bootstrap_servers
        return self._cdk.deploy({"stage": "local", "kafka": servers, "artifacts": str(ARTIFACTS)})

    @property
    def s3(self) -> S3Client:
        return boto3.client("s3", **self.aws.client_settings)

    def _start_aws(self) -> None:
        self._start_part(self.aws)
        self._cdk.bootstrap()

    def _start_part(self, part: ServerProcess) -> None:
        self.callback(part.kill)
        part.start()

    @property
    def _cdk(self) -> Cdk:
        return Cdk(self._folder / "cdk", self.aws.client_settings)

    def _job_settings(self) -> jobs.JobSettings:
        self.lake.folder.mkdir()  # SQLite makes the catalog's file, not its folder
        return jobs.JobSettings(
            folder=self._folder / "jobs",
            resources=self.resources,
            lake=self.lake,
            environment=self.aws.client_environment,
            jobs=jobs.jobs_of(has_lake=self._has_lake),
        )
