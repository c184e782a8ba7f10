"""A whole platform for the tests of this folder, kept running whatever they kill."""

import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import pytest

import operations.platform
from clients.kafka.reader import KafkaReader
from clients.s3.payload_bucket import PayloadBucket
from fleetlane.events.lanes import LaneTrigger
from local.flow_activation import activation_here
from local.platform import Platform, PlatformSettings
from local.simulator.http_api import HttpApi
from local.simulator.sendings import FleetPlan
from local.simulator.simulator import FleetRun, run_fleet
from local.spark.jobs import jobs_of
from operations.endpoints import PARKED_BUCKET
from operations.lake import lake_of
from operations.ledger.evidence import LEDGER_TOPICS, Evidence, deduped_streams
from operations.ledger.lake_settling import wait_for_lake
from operations.ledger.message_results import Receipt
from operations.ledger.reconciliation import Ledger, SettlingLimits, reconcile, wait_until_settled
from operations.messages.stores import RecordSource
from tests.e2e.fault_proxy import FaultProxy

SETTLING_LIMITS = SettlingLimits(deadline_s=300.0, quiet_s=150.0)
"""Kafka's consumers and producers wait for two minutes where a broker's answer is lost."""

SLOW_PARSE_MS_MAX = 4_000
"""Parsing that takes 35 ms alone took .7 s beside two busy processes: on a busy machine more."""


class Keeper:
    """Starts parts again when they die; ``on_restart`` is called with the name of each."""

    def __init__(
        self, platform: Platform, *, on_restart: Callable[[str], None] = lambda _: None
    ) -> None:
        self._platform, self._on_restart = platform, on_restart
        self._start()

    @contextmanager
    def away(self) -> Iterator[None]:
        """What dies in the block stays dead, unless the block itself starts it again."""
        self.stop()
        try:
            yield
        finally:
            self._start()

    def stop(self) -> None:
        self._over.set()
        self._thread.join()

    def _start(self) -> None:
        self._over = threading.Event()
        how = {"until": self._over, "on_restart": self._on_restart}
        self._thread = threading.Thread(target=self._platform.keep_running, kwargs=how)
        self._thread.start()


LOG_LINES_MAX: Final = 60


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Beside a failure stands what the parts logged last: it rarely happens twice."""
    report = yield
    running = getattr(item, "funcargs", {}).get("running")
    if report.failed and isinstance(running, RunningPlatform):
        platform = running.platform
        for part in (*platform.jobs.values(), platform.gateway, platform.broker, platform.aws):
            report.sections.append((part.name, part.log_tail(LOG_LINES_MAX)))
    return report


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningPlatform:
    """A platform whose parts are started again when they die.

    Its functions reach ``s3`` and ``registry`` by way of servers that can be made to fail.
    ``settling_limits`` are how long a ledger is waited for.
    """

    platform: Platform
    s3: FaultProxy
    registry: FaultProxy

    keeper: Keeper
    settling_limits: SettlingLimits = SETTLING_LIMITS

    @property
    def seen_by_operators(self) -> operations.platform.Platform:
        endpoints, data = self.platform.endpoints, self.platform.settings.folder
        return operations.platform.Platform.on_laptop(endpoints, data, activation_here)

    def send(self, plan: FleetPlan) -> FleetRun:
        with closing(HttpApi(self.platform.endpoints.api)) as api:
            return run_fleet(plan, api, registry=self.platform.registry)

    def ledger_of(self, run: FleetRun) -> Ledger:
        """Wait until all that the fleet sent has settled, and reconcile the ledger."""
        return self.ledger_on(run.receipts())

    def ledger_on(self, receipts: Iterable[Receipt]) -> Ledger:
        """Wait until all that was accepted has settled, and reconcile the ledger."""
        accepted, began_s = list(receipts), time.monotonic()
        evidence = Evidence(deduped=deduped_streams(self.platform.flows))
        with closing(KafkaReader(self.platform.endpoints.kafka, pattern=LEDGER_TOPICS)) as reader:
            wait_until_settled(accepted, evidence, reader, limits=self.settling_limits)
        payloads = PayloadBucket(self.platform.s3, PARKED_BUCKET)
        seconds = time.monotonic() - began_s
        return reconcile(accepted, evidence, payloads=payloads, seconds=seconds)

    def ledger_to_the_lake(
        self,
        receipts: Sequence[Receipt],
        evidence: Evidence,
        source: RecordSource,
        *,
        limits: SettlingLimits,
        lake_limits: SettlingLimits,
    ) -> Ledger:
        """The same, of what ``source`` has read so far, with what the lake must hold of it."""
        began_s = time.monotonic()
        wait_until_settled(receipts, evidence, source, limits=limits)
        opened = partial(lake_of, self.seen_by_operators)
        lake = wait_for_lake(receipts, evidence, opened, limits=lake_limits)
        payloads = PayloadBucket(self.platform.s3, PARKED_BUCKET)
        seconds = time.monotonic() - began_s
        return reconcile(receipts, evidence, payloads=payloads, seconds=seconds, lake=lake)


@pytest.fixture(scope="package")
def running(
    tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config
) -> Iterator[RunningPlatform]:
    folder = tmp_path_factory.mktemp("platform")
    trigger = LaneTrigger(pytestconfig.getoption("fast_trigger"))
    settings = PlatformSettings(
        folder=folder,
        jobs=jobs_of(
            fast_trigger=trigger,
            slow_parse_ms_max=SLOW_PARSE_MS_MAX,
            has_lake=False,  # its commits take the cores of what is tested here
        ),
    )
    with running_platform(settings) as platform:
        yield platform


@contextmanager
def running_platform(
    settings: PlatformSettings,
    *,
    is_whole: bool = False,
    on_restart: Callable[[str], None] = lambda _: None,
    before_jobs: Callable[[Platform], object] = lambda _: None,
    made: Callable[[PlatformSettings], Platform] = Platform,
) -> Iterator[RunningPlatform]:
    """Start a platform whose S3 and registry can be made to fail: the functions', or all parts'.

    ``made`` makes it of its settings.
    """
    with (
        FaultProxy(lambda: platform.aws.endpoint_url) as s3,
        FaultProxy(lambda: platform.aws.endpoint_url) as registry,
        made(_behind(settings, s3, registry, is_whole=is_whole)) as platform,
    ):
        platform.start(lambda _: None, before_jobs=lambda: before_jobs(platform))
        keeper = Keeper(platform, on_restart=on_restart)
        try:
            yield RunningPlatform(platform=platform, s3=s3, registry=registry, keeper=keeper)
        finally:
            keeper.stop()


def _behind(
    settings: PlatformSettings, s3: FaultProxy, registry: FaultProxy, *, is_whole: bool
) -> PlatformSettings:
    reach = {"AWS_ENDPOINT_URL_S3": s3.url, "AWS_ENDPOINT_URL_DYNAMODB": registry.url}
    return replace(
        settings,
        functions_environment={**settings.functions_environment, **reach},
        jobs_environment=reach if is_whole else {},
    )
