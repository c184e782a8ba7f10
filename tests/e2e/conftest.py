"""A whole platform for the tests of this folder, kept running whatever they kill."""

import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass

import pytest

from clients.kafka_reader import KafkaReader
from clients.payload_bucket import PayloadBucket
from local.fleet.plan import FleetPlan
from local.fleet.simulator import FleetRun, run_fleet
from local.ledger import LEDGER_TOPICS, Evidence, Ledger, Receipt, close_ledger, settled
from local.ledger.settling import Patience
from local.platform import PARKED_BUCKET, Platform, PlatformSettings

PATIENCE = Patience(deadline_s=240.0, quiet_s=90.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningPlatform:
    """A platform whose parts are started again when they die."""

    platform: Platform

    def send(self, plan: FleetPlan) -> FleetRun:
        platform = self.platform
        return run_fleet(plan, api_url=platform.endpoints.api, registry=platform.registry)

    def ledger_of(self, run: FleetRun) -> Ledger:
        """Wait until all that the fleet sent has settled, and close the books on it."""
        return self.ledger_on(run.receipts())

    def ledger_on(self, receipts: Iterable[Receipt]) -> Ledger:
        """Wait until all that was accepted has settled, and close the books on it."""
        accepted, evidence, began_s = list(receipts), Evidence(), time.monotonic()
        with closing(KafkaReader(self.platform.endpoints.kafka, pattern=LEDGER_TOPICS)) as reader:
            settled(accepted, evidence, reader, patience=PATIENCE)
        payloads = PayloadBucket(self.platform.s3, PARKED_BUCKET)
        seconds = time.monotonic() - began_s
        return close_ledger(accepted, evidence, payloads=payloads, seconds=seconds)


@pytest.fixture(scope="package")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningPlatform]:
    settings = PlatformSettings(folder=tmp_path_factory.mktemp("platform"))
    done = threading.Event()
    with Platform(settings) as platform:
        platform.start(lambda _: None)
        keeper = threading.Thread(target=platform.keep_running, kwargs={"until": done})
        keeper.start()
        yield RunningPlatform(platform=platform)
        done.set()
        keeper.join()
