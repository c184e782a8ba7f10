"""The local stage, from nothing: built, deployed, with its flows in force and its jobs running."""

import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, Protocol, Self

import boto3

from clients.devices.registry import DeviceRegistry
from clients.flows.parser_store import ParserStore
from clients.flows.store import FlowStore
from fleetlane.events.flows.files import flows_in
from infra.artifacts.build import Targets, build
from infra.artifacts.packages import Platform
from local.checkout import BROKER_JARS, FLOWS, LOCALSTACK_ENVIRONMENT, ROOT
from local.cloud.cdk import Cdk, DeployResult
from local.cloud.deployed_stage import DeployedStage
from local.cloud.jobs import DeployedJobs, fetched_job_code
from local.example_parsers import deploy_example
from local.servers.kafka import KafkaBroker
from local.servers.localstack import LocalAws, Services
from local.spark.jobs import JOBS_WITHOUT_LAKE, JobSettings
from local.spark.lake import LocalLake
from operations.aws_settings import ClientSettings, variables_for
from operations.flows.activation_call import activation_call
from operations.flows.publisher import FlowPublisher

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

ARTIFACTS: Final = ROOT / "build" / "artifacts-local"


class _Part(Protocol):
    def start(self) -> None: ...

    def kill(self) -> None: ...


class LocalCloud:
    """A deployed local stage with Kafka and Spark beside it; a context manager that stops all.

    ``stage``, ``publisher`` and ``bootstrap_servers`` are known once started.
    """

    stage: DeployedStage
    publisher: FlowPublisher

    def __init__(self, folder: Path) -> None:
        """Take a folder of its own, empty: what LocalStack held before is gone."""
        self._folder = folder.resolve()
        self._broker = KafkaBroker(self._folder / "kafka", jars=BROKER_JARS)
        self._aws = LocalAws(
            self._folder / "aws", environment=LOCALSTACK_ENVIRONMENT, services=Services.CLOUD
        )
        self._started: list[_Part] = []

    def start(self, on_step: Callable[[str], None]) -> None:
        """Bring all of it up; calls ``on_step`` before each step. Blocks for a minute or more.

        Raises:
            FleetlaneError: A part did not start, or the stage, a flow or an artifact is refused.
        """
        flows = flows_in(FLOWS)
        on_step("artifacts for this machine; Kafka broker; LocalStack, and cdk bootstrap")
        with ThreadPoolExecutor(3) as pool:
            steps = [pool.submit(step) for step in (_build, self._start_broker, self._start_aws)]
            for step in steps:
                step.result()
        on_step("cdk deploy")
        self.stage = DeployedStage.of(self.deploy().outputs)
        on_step("parsers and flows, by the function that was deployed")
        bucket = self.stage.flows_bucket
        self.publisher = FlowPublisher(
            FlowStore(self.s3, bucket),
            ParserStore(self.s3, bucket),
            activation_call(self.stage.flow_activation, self.aws_settings),
        )
        deploy_example(self.publisher.parsers)
        self.publisher.publish(flows.values())
        on_step("Spark jobs, by the code that was uploaded")
        self._start_part(self._jobs())

    def deploy(self) -> DeployResult:
        """Deploy the checkout as it is now, artifacts as they were built; once more is fine.

        Raises:
            CdkFailedError: A stack is refused, or could not be made.
        """
        context = {"stage": "local", "kafka": self.bootstrap_servers, "artifacts": str(ARTIFACTS)}
        return self._cdk.deploy(context)

    def stop(self) -> None:
        """Kill all parts, last first: nothing of it is to be used again."""
        while self._started:
            self._started.pop().kill()

    @property
    def api_url(self) -> str:
        """Where ``/v1/…`` is."""
        return self._aws.endpoint_url + self.stage.api_path

    @property
    def bootstrap_servers(self) -> str:
        return self._broker.bootstrap_servers

    @property
    def aws_settings(self) -> ClientSettings:
        """What a boto3 client needs to reach LocalStack."""
        return self._aws.client_settings

    @property
    def registry(self) -> DeviceRegistry:
        resource = boto3.resource("dynamodb", **self.aws_settings)
        return DeviceRegistry(resource.Table(self.stage.registry_table))

    @property
    def s3(self) -> "S3Client":
        return boto3.client("s3", **self.aws_settings)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def _start_broker(self) -> None:
        self._start_part(self._broker)

    def _start_aws(self) -> None:
        self._start_part(self._aws)
        self._cdk.bootstrap()

    def _start_part(self, part: _Part) -> None:
        self._started.append(part)
        part.start()

    @property
    def _cdk(self) -> Cdk:
        return Cdk(self._folder / "cdk", self.aws_settings)

    def _jobs(self) -> DeployedJobs:
        stage, folder = self.stage, self._folder / "jobs"
        code = fetched_job_code(self.s3, stage, folder / "code")
        settings = JobSettings(
            folder=folder,
            bootstrap_servers=self.bootstrap_servers,
            flows_bucket=stage.flows_bucket,
            payload_bucket=stage.payload_bucket,
            parked_bucket=stage.parked_bucket,
            lake_bucket=stage.lake_bucket,
            overrides_bucket=stage.flows_bucket,
            registry_table=stage.registry_table,
            lake=LocalLake(self._folder / "lake"),
            environment=self._job_environment(),
            jobs=JOBS_WITHOUT_LAKE,  # its catalog is not Glue's here
        )
        return DeployedJobs(settings, code)

    def _job_environment(self) -> Mapping[str, str]:
        """Nothing of the user's own AWS settings, and all that ours needs."""
        user = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}  # noqa: TID251 - passed on to our own server
        return {**user, **variables_for(self.aws_settings)}


def _build() -> None:
    for _ in build(ROOT, ARTIFACTS, Targets(functions=Platform.HOST, jobs=Platform.HOST)):
        pass
