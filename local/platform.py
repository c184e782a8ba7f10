"""The whole platform on one machine: broker, S3 and DynamoDB, gateway with the handlers, jobs."""

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from operator import methodcaller
from pathlib import Path
from typing import Final

import boto3

from clients.aws import S3Client
from clients.device_api import AUDIENCE
from clients.devices.registry import DeviceRegistry
from fleetlane.events.flows.files import flows_in
from fleetlane.events.flows.flow import FlowSet
from fleetlane.events.job_arguments import KafkaSecurity
from fleetlane.events.names import COMMON_AUDIENCE
from infra.stages import settings_of, stage_from
from local.canary import LocalCanary
from local.checkout import BROKER_JARS, DATA, FLOWS, LOCALSTACK_ENVIRONMENT
from local.flow_activation import activation_here, deploy_example, publish_new_flows
from local.servers.gateway_process import GATEWAY, LocalConsole, LocalGateway
from local.servers.kafka import KafkaBroker
from local.servers.localstack import LocalAws, ensure_upload_queue
from local.servers.processes import ServerProcess
from local.spark.jobs import (
    Application,
    ApplicationJobs,
    JobSettings,
    LocalJobs,
    LocalLake,
    jobs_of,
)
from operations import endpoints as laptop
from operations.flows.publisher import FlowPublisher

RECEIPTS_TABLE: Final = "fleetlane-receipts"
SPOOL_BUCKET: Final = "fleetlane-spool"

_LOOK_EVERY_S: Final = 0.5
_SWEEP_AFTER_S: Final = "10"
"""How long a notification may take here; in AWS, a quarter of an hour."""
_RECEIPTS_WAIT_MS: Final = 2_000
"""Longer than in the cloud: LocalStack shares its cores with everything else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlatformSettings:
    """Where the platform keeps its data, the flows that were published among it.

    Without ``jobs`` messages land, and nothing parses them; without the lake's nothing is
    kept longer than in Kafka. ``functions_environment`` and ``jobs_environment`` are what
    the functions, and the jobs, see besides, and before, all else. ``gateway_module`` is what
    runs as the gateway. The canary sends every ``canary_interval_ms``, or not at all.
    """

    folder: Path = DATA
    functions_environment: Mapping[str, str] = field(default_factory=dict)
    jobs_environment: Mapping[str, str] = field(default_factory=dict)
    gateway_module: str = GATEWAY
    canary_interval_ms: int | None = None
    jobs: ApplicationJobs = field(default_factory=jobs_of)


class Platform(ExitStack):
    """Starts all parts, restarts what dies, and stops them, last first; a context manager.

    The parts are attributes, for tests that kill them. ``endpoints`` and ``flows``, those in
    force at the start, are known once started.
    """

    gateway: LocalGateway
    canary: LocalCanary
    jobs: Mapping[Application, ServerProcess]
    endpoints: laptop.Endpoints
    flows: FlowSet

    def __init__(self, settings: PlatformSettings) -> None:
        super().__init__()
        self.settings = settings
        folder = settings.folder.resolve()
        self.broker = KafkaBroker(folder / "kafka", jars=BROKER_JARS)
        self.aws = LocalAws(folder / "aws", environment=LOCALSTACK_ENVIRONMENT)
        self._started: list[ServerProcess] = []

    def start(
        self, on_step: Callable[[str], None], *, before_jobs: Callable[[], object] = lambda: None
    ) -> laptop.Endpoints:
        """Start everything and wait until messages are taken; calls ``on_step`` before each step.

        ``before_jobs`` is called, and waited for, before the first job may touch the lake. Where a
        part does not start, or a flow is refused, that is raised; its context stops the others.
        """
        on_step("Kafka broker, S3 and DynamoDB")
        self._start_together(self.broker, self.aws)
        held = (laptop.PAYLOAD_BUCKET, laptop.PARKED_BUCKET, SPOOL_BUCKET, laptop.LAKE_BUCKET)
        for bucket in (*held, laptop.FLOWS_BUCKET, laptop.OVERRIDES_BUCKET):
            self.aws.ensure_bucket(bucket)
        self.aws.ensure_table(laptop.REGISTRY_TABLE)
        self.aws.ensure_table(RECEIPTS_TABLE, key="receipt_key")
        on_step("parsers, flows and their topics")
        servers = self.broker.bootstrap_servers
        activate = activation_here(laptop.localstack_at(self.aws.endpoint_url), servers)
        publisher = FlowPublisher(self.s3, laptop.FLOWS_BUCKET, activate)
        deploy_example(publisher.parsers)
        self.flows = publish_new_flows(flows_in(FLOWS), publisher)
        on_step("gateway and Spark jobs" if self.settings.jobs else "gateway")
        environment = gateway_environment(self.aws, kafka_bootstrap_servers=servers)
        self.gateway = LocalGateway(
            self._folder("gateway"),
            {**environment, **self.settings.functions_environment},
            upload_queue_url=ensure_upload_queue(self.aws.client_settings, laptop.PAYLOAD_BUCKET),
            module=self.settings.gateway_module,
        )
        self.endpoints = laptop.Endpoints(
            api=self.gateway.url,
            kafka=servers,
            s3=self.aws.endpoint_url,
            dynamodb=self.aws.endpoint_url,
            region=laptop.REGION,
        )
        settings = self._job_settings()
        self.jobs = {one: self._application(settings, one) for one in settings.jobs}
        before_jobs()
        self._start_together(self.gateway, *self.jobs.values())
        if (interval_ms := self.settings.canary_interval_ms) is not None:
            self.canary = LocalCanary(self.gateway.url, self.registry, interval_ms=interval_ms)
            self.callback(self.canary.stop)
            self.canary.start()
        return self.endpoints

    def keep_running(
        self, *, until: threading.Event, on_restart: Callable[[str], None] = lambda _: None
    ) -> None:
        """Start again whatever dies, until the event is set; blocks."""
        while not until.wait(_LOOK_EVERY_S):
            for part in self._started:
                if not part.is_alive() and not until.is_set():
                    on_restart(part.name)
                    part.start()

    def start_console(self) -> str:
        """Start it for the platform, which was announced by now; returns where it answers."""
        console = LocalConsole(self.settings.folder)
        self._start_together(console)
        return console.url

    @property
    def lake(self) -> LocalLake:
        return LocalLake(self._folder("lake"))

    @property
    def registry(self) -> DeviceRegistry:
        resource = boto3.resource("dynamodb", **self.aws.client_settings)
        return DeviceRegistry(resource.Table(laptop.REGISTRY_TABLE))

    @property
    def s3(self) -> S3Client:
        return boto3.client("s3", **self.aws.client_settings)

    def _start_together(self, *parts: ServerProcess) -> None:
        for part in parts:
            self._started.append(part)
            self.callback(part.stop)
        with ThreadPoolExecutor(len(parts)) as pool:
            list(pool.map(methodcaller("start"), parts))

    def _folder(self, name: str) -> Path:
        folder = self.settings.folder.resolve() / name
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def _application(self, settings: JobSettings, application: Application) -> ServerProcess:
        return LocalJobs(settings, application)

    def _job_settings(self) -> JobSettings:
        return JobSettings(
            folder=self._folder("jobs"),
            resources=self.endpoints.resources,
            spool_bucket=SPOOL_BUCKET,
            lake=self.lake,
            accepted_log=self.gateway.log_path,
            environment={**self.aws.client_environment, **self.settings.jobs_environment},
            jobs=self.settings.jobs,
        )


def gateway_environment(aws: LocalAws, *, kafka_bootstrap_servers: str) -> dict[str, str]:
    """What the gateway's functions see: this machine's stores, and the limits of stage local."""
    stage = stage_from(laptop.LOCAL_STAGE, settings_of(laptop.LOCAL_STAGE))
    return {
        **aws.client_environment,
        "KAFKA_BOOTSTRAP_SERVERS": kafka_bootstrap_servers,
        "KAFKA_SECURITY": KafkaSecurity.PLAINTEXT,
        "PAYLOAD_BUCKET": laptop.PAYLOAD_BUCKET,
        "SPOOL_BUCKET": SPOOL_BUCKET,
        "FLOWS_BUCKET": laptop.FLOWS_BUCKET,
        "FLOWS_MAX_AGE_S": str(laptop.FLOWS_MAX_AGE_S),
        "OVERRIDES_BUCKET": laptop.OVERRIDES_BUCKET,
        "OVERRIDES_MAX_AGE_S": "2",
        "SOFT_RATE_LIMIT_PER_MINUTE": str(stage.soft_rate_limit_per_minute),
        "HARD_RATE_LIMIT_PER_MINUTE": str(stage.hard_rate_limit_per_minute),
        "SOFT_RATE_LIMIT_BYTES_PER_MINUTE": str(stage.soft_rate_limit_bytes_per_minute),
        "HARD_RATE_LIMIT_BYTES_PER_MINUTE": str(stage.hard_rate_limit_bytes_per_minute),
        "REGISTRY_TABLE": laptop.REGISTRY_TABLE,
        "AUDIENCES": f"{AUDIENCE},{COMMON_AUDIENCE}",
        "SWEEP_AFTER_S": _SWEEP_AFTER_S,
        "RECEIPTS_TABLE": RECEIPTS_TABLE,
        "RECEIPTS_WAIT_MS": str(_RECEIPTS_WAIT_MS),
        "POWERTOOLS_LOG_LEVEL": "WARNING",
    }
