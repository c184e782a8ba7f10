"""A soak: capacity first, then traffic at a share of it, with a fault every few minutes."""

import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from clients.s3.payload_bucket import PayloadBucket
from local.platform import PlatformSettings
from local.simulator.http_api import HttpApi
from operations.endpoints import PARKED_BUCKET
from operations.ledger.evidence import Evidence, deduped_streams
from operations.ledger.lake_settling import wait_for_lake
from operations.ledger.reconciliation import Ledger, SettlingLimits, reconcile, wait_until_settled
from tests.e2e.conftest import RunningPlatform, running_platform
from tests.soak.backlog import Observer
from tests.soak.faults import FAULTS, JOBS_DISK_FULL, Fault, Reach, dealt
from tests.soak.judgement import (
    FaultRecord,
    fault_record,
    memory_verdict,
    normal_in,
    recovery_s_max,
)
from tests.soak.memory import MemorySampler
from tests.soak.report import SoakReport, seconds
from tests.soak.small_disk import SmallDisk
from tests.soak.stepped_gateway import CLOCK_FILE_VARIABLE, MODULE
from tests.soak.traffic import CONNECTIONS, ROUND_S, Traffic

SHARE: Final = 0.6
JOBS_DISK_MIB: Final = 768
_FIRST_DEVICES: Final = 60
_CALIBRATION_DEVICES: Final = 400
_CALIBRATION_S: Final = 45.0
_DONE_SHARE: Final = 0.95
_CALIBRATED_WITHIN_S_MAX: Final = 300.0
_SETTLING: Final = SettlingLimits(deadline_s=600.0, quiet_s=120.0)
_LAKE_SETTLING: Final = SettlingLimits(deadline_s=600.0, quiet_s=600.0, poll_interval_s=15.0)
_QUIET_S: Final = 75.0
"""Traffic at its rate and no fault: by this, later backlogs are judged."""
_RAMP_S: Final = 30.0
_LOOK_EVERY_S: Final = 1.0
_MESSAGES_A_DEVICE: Final = 4.9
"""Of five each, as a few send but one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SoakSettings:
    """How long, how often a fault, and the seed that deals faults and makes the fleet."""

    minutes: float
    fault_every_s: float
    seed: int
    folder: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class _Restart:
    name: str
    at_s: float


@dataclass(slots=True, kw_only=True)
class Soak:
    """One run, step by step."""

    settings: SoakSettings
    reach: Reach
    observer: Observer
    memory: MemorySampler
    api: HttpApi
    restarts: list[_Restart]
    records: list[FaultRecord] = field(default_factory=list)

    @property
    def running(self) -> RunningPlatform:
        return self.reach.running

    def run(self) -> SoakReport:
        """Blocks for a few minutes longer than the settings say."""
        self.observer.start()
        capacity_per_s, first = self._calibrated()
        offered_per_s = SHARE * capacity_per_s
        devices = round(offered_per_s * ROUND_S / _MESSAGES_A_DEVICE)
        tell(
            f"soak: seed {self.settings.seed}, {self.settings.minutes:g} minutes; the machine takes"
            f" {capacity_per_s:.0f} messages a second, sent are {offered_per_s:.0f}"
        )
        traffic = self._traffic(devices=devices, seed=self.settings.seed)
        self.memory.start()
        began_s = time.time()
        with traffic.steady():
            self._sleep(_RAMP_S)
            self._sleep(_QUIET_S)
            normal = normal_in(list(self.observer.history)[-round(_QUIET_S) :])
            self._befall(normal, until_s=began_s + 60 * self.settings.minutes)
            ended_s = time.time()
        self.memory.stop()
        sent_s = time.time() - began_s
        runs = [*first, traffic]
        return SoakReport(
            seed=self.settings.seed,
            minutes=self.settings.minutes,
            began_s=began_s,
            capacity_per_s=capacity_per_s,
            offered_per_s=offered_per_s,
            accepted_per_s=traffic.accepted() / sent_s,
            normal=normal,
            faults=tuple(self.records),
            left_out=self._left_out(),
            memory=tuple(
                memory_verdict(role, samples, began_s=began_s, ended_s=ended_s)
                for role, samples in self.memory.by_role.items()
            ),
            calm_restarts=tuple(self._calm_restarts(began_s)),
            surprises=tuple(line for one in runs for line in one.surprises()),
            ledger=self._ledger(runs),
            samples=self.memory.by_role,
            waiting=self.observer.history,
        )

    def _calibrated(self) -> tuple[float, list[Traffic]]:
        """Messages a second, from the first to where 95 % of them have their outcome.

        A small fleet comes first: then every lane is ready.
        """
        seed = self.settings.seed
        warm = self._traffic(devices=_FIRST_DEVICES, seed=seed + 1)
        warm.as_fast_as_it_can(seconds=1)
        self._wait_for(_DONE_SHARE * warm.accepted())
        burst = self._traffic(devices=_CALIBRATION_DEVICES, seed=seed + 2)
        began_s, ended = time.monotonic(), self.observer.outcomes.ended
        burst.as_fast_as_it_can(seconds=_CALIBRATION_S)
        wanted = _DONE_SHARE * burst.accepted()
        self._wait_for(ended + wanted)
        capacity_per_s = wanted / (time.monotonic() - began_s)
        self._wait_for(ended + burst.accepted(), patience_s=30)
        return capacity_per_s, [warm, burst]

    def _wait_for(self, outcomes: float, *, patience_s: float = _CALIBRATED_WITHIN_S_MAX) -> None:
        give_up_s = time.monotonic() + patience_s
        while self.observer.outcomes.ended < outcomes and time.monotonic() < give_up_s:
            time.sleep(_LOOK_EVERY_S)

    def _traffic(self, *, devices: int, seed: int) -> Traffic:
        registry = self.running.platform.registry
        return Traffic.of(self.api, registry, devices=devices, seed=seed)

    def _befall(self, normal: dict[str, int], *, until_s: float) -> None:
        """One fault after another, each when the backlog of the one before is gone."""
        deck = dealt(self.settings.seed, without=frozenset(self._left_out()))
        for fault in deck:
            began_s = time.time()
            record = self._befallen(fault, normal)
            self.records.append(record)
            tell(
                f"soak: outage {seconds(record.outage_s)} s, recovery"
                f" {seconds(record.recovery_s)} s of at most {seconds(record.recovery_s_max)}"
            )
            next_s = began_s + self.settings.fault_every_s
            if next_s + fault.length_s > until_s:
                self._sleep(max(0.0, until_s - time.time()))
                return
            self._sleep(max(0.0, next_s - time.time()))

    def _befallen(self, fault: Fault, normal: dict[str, int]) -> FaultRecord:
        tell(f"soak: {fault.kind} for {fault.length_s} s")
        restarts_before = len(self.restarts)
        with self.running.keeper.away():
            began_s = time.time()
            with FAULTS[fault.kind](self.reach):
                time.sleep(fault.length_s)
            ended_s = time.time()
        while True:
            history, outcomes = list(self.observer.history), self.observer.outcomes
            record = fault_record(
                fault.kind, (began_s, ended_s), history, normal, outcomes.first_row_s
            )
            if record.recovery_s is not None or time.time() > _given_up_s(record):
                names = tuple(one.name for one in self.restarts[restarts_before:])
                return FaultRecord(
                    kind=record.kind,
                    began_s=began_s,
                    ended_s=ended_s,
                    outage_s=record.outage_s,
                    recovery_s=record.recovery_s,
                    restarts=names,
                )
            time.sleep(_LOOK_EVERY_S)

    def _calm_restarts(self, began_s: float) -> Iterator[str]:
        """Parts that died while no fault was under way or being recovered from."""
        for one in self.restarts:
            spans = ((two.began_s, _over_s(two)) for two in self.records)
            if one.at_s > began_s and not any(begin <= one.at_s <= end for begin, end in spans):
                yield f"{one.name}, {one.at_s - began_s:.0f} s after the beginning"

    def _left_out(self) -> dict[str, str]:
        if self.reach.jobs_disk is not None:
            return {}
        return {JOBS_DISK_FULL: "this machine lets us mount no tmpfs"}

    def _ledger(self, runs: list[Traffic]) -> Ledger:
        receipts = [receipt for one in runs for receipt in one.receipts()]
        self.observer.stop()
        began_s = time.monotonic()
        wait_until_settled(receipts, self.observer.evidence, self.observer, limits=_SETTLING)
        payloads = PayloadBucket(self.running.platform.s3, PARKED_BUCKET)
        lake = wait_for_lake(
            receipts,
            self.observer.evidence,
            self.running.seen_by_operators.lake,
            limits=_LAKE_SETTLING,
        )
        return reconcile(
            receipts,
            self.observer.evidence,
            payloads=payloads,
            seconds=time.monotonic() - began_s,
            lake=lake,
        )

    @staticmethod
    def _sleep(seconds: float) -> None:
        time.sleep(seconds)


def _given_up_s(record: FaultRecord) -> float:
    """When a backlog that is still there is there for too long, twice over."""
    outage_s = time.time() - record.began_s if record.outage_s is None else record.outage_s
    if record.outage_s is None:
        return record.ended_s + _CALIBRATED_WITHIN_S_MAX
    return record.began_s + outage_s + 2 * recovery_s_max(outage_s)


def _over_s(record: FaultRecord) -> float:
    """When a fault was recovered from; long after it where it never was."""
    if record.outage_s is None or record.recovery_s is None:
        return _given_up_s(record)
    return record.began_s + record.outage_s + record.recovery_s


def tell(text: str) -> None:
    """Print a line at once: a soak is long."""
    sys.stdout.write(f"{time.strftime('%H:%M:%S')} {text}\n")
    sys.stdout.flush()


@contextmanager
def platform_to_soak(settings: SoakSettings) -> Iterator[Soak]:
    """Start a platform on a folder of its own, its lake included, and all that watches it."""
    data, clock_file = settings.folder / "data", settings.folder / "clock"
    disk = SmallDisk.mounted(data / "jobs", size_mib=JOBS_DISK_MIB)
    restarts: list[_Restart] = []
    platform_settings = PlatformSettings(
        folder=data,
        gateway_module=MODULE,
        functions_environment={CLOCK_FILE_VARIABLE: str(clock_file)},
    )
    try:
        with running_platform(
            platform_settings,
            is_whole=True,
            on_restart=lambda name: restarts.append(_Restart(name=name, at_s=time.time())),
        ) as running:
            platform = running.platform
            evidence = Evidence(deduped=deduped_streams(platform.flows))
            observer, memory = Observer(platform, evidence), MemorySampler(platform)
            with closing(HttpApi(platform.endpoints.api, connections=CONNECTIONS)) as api:
                yield Soak(
                    settings=settings,
                    reach=Reach(running=running, clock_file=clock_file, jobs_disk=disk),
                    observer=observer,
                    memory=memory,
                    api=api,
                    restarts=restarts,
                )
            observer.close()
    finally:
        if disk is not None:
            disk.unmount()
