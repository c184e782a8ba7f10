"""A soak: capacity first, then traffic at a share of it, with a fault every few minutes."""

import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Final

import duckdb

from clients.lake.laptop_lake import LakeMissingError, LaptopLake
from fleetlane.events.lake.tables import EVENTS
from local.platform import Platform, PlatformSettings
from local.simulator.http_api import HttpApi
from local.spark.jobs import Application
from operations.endpoints import LAKE_CATALOG
from operations.ledger.evidence import Evidence, deduped_streams
from operations.ledger.reconciliation import Ledger, SettlingLimits
from tests.e2e.conftest import RunningPlatform, running_platform
from tests.soak.backlog import Observer
from tests.soak.dealing import DealtFaults, Restart, SoakSettings
from tests.soak.faults import Reach
from tests.soak.judgement import MemoryVerdict, memory_verdict, normal_in, verdict_at_rest
from tests.soak.memory import MemorySampler
from tests.soak.report import SoakReport, tell
from tests.soak.small_disk import SmallDisk
from tests.soak.stepped_gateway import CLOCK_FILE_VARIABLE, MODULE
from tests.soak.traffic import CONNECTIONS, ROUND_S, Traffic

SHARE: Final = 0.6
JOBS_DISK_MIB: Final = 768
_FIRST_DEVICES: Final = 60
_CALIBRATION_DEVICES: Final = 400
_BURST_S: Final = 90.0
_EVEN_S: Final = 240.0
_WAITING_MAX: Final = 50
"""So few messages that wait are none of a calibration's."""

_DONE_SHARE: Final = 0.95
_CALIBRATED_WITHIN_S_MAX: Final = 900.0
_SETTLING: Final = SettlingLimits(deadline_s=600.0, quiet_s=120.0)
_LAKE_SETTLING: Final = SettlingLimits(deadline_s=1_200.0, quiet_s=600.0, poll_interval_s=15.0)
_QUIET_S: Final = 75.0
"""Traffic at its rate and no fault: by this, later backlogs are judged."""
_RAMP_S: Final = 30.0
_LOOK_EVERY_S: Final = 2.0
_MESSAGES_A_DEVICE: Final = 4.9
"""Of five each, as a few send but one."""


@dataclass(slots=True, kw_only=True)
class Soak:
    """One run, step by step."""

    settings: SoakSettings
    running: RunningPlatform
    faults: DealtFaults
    observer: Observer
    memory: MemorySampler
    api: HttpApi

    def run(self) -> SoakReport:
        """Blocks for a few minutes longer than the settings say."""
        self.observer.start()
        capacity_per_s, first = self._calibrated()
        rested = dict(self.memory.heaps_at_rest())
        offered_per_s = SHARE * capacity_per_s
        tell(
            f"soak: seed {self.settings.seed}, {self.settings.minutes:g} minutes; the machine takes"
            f" {capacity_per_s:.0f} messages a second, sent are {offered_per_s:.0f}"
        )
        traffic = self._traffic(devices=_devices(offered_per_s), seed=self.settings.seed)
        self.memory.start()
        began_s = time.time()
        with traffic.steady():
            time.sleep(_RAMP_S)
            time.sleep(_QUIET_S)
            normal = normal_in(list(self.observer.history)[-round(_QUIET_S) :])
            self.faults.deal(normal, until_s=began_s + 60 * self.settings.minutes)
            ended_s = time.time()
        self.memory.stop()
        sent_s = time.time() - began_s
        runs = [*first, traffic]
        ledger = self._ledger(runs)
        at_rest = [
            verdict_at_rest(role, rested[role], after)
            for role, after in self.memory.heaps_at_rest()
        ]
        return SoakReport(
            seed=self.settings.seed,
            minutes=self.settings.minutes,
            began_s=began_s,
            capacity_per_s=capacity_per_s,
            offered_per_s=offered_per_s,
            accepted_per_s=traffic.accepted() / sent_s,
            normal=normal,
            faults=tuple(self.faults.records),
            left_out=self.faults.left_out,
            memory=(*self._memory(began_s, ended_s), *at_rest),
            calm_restarts=tuple(self.faults.calm_restarts(began_s)),
            surprises=tuple(line for one in runs for line in one.surprises()),
            ledger=ledger,
            rows_twice=self._rows_twice(),
            samples=self.memory.by_role,
            waiting=self.observer.history,
        )

    def _calibrated(self) -> tuple[float, list[Traffic]]:
        """Messages a second, from the first to where the lake holds 95 % of their events.

        Lanes alone are done sooner: what the lake has not written yet is still work. A small fleet
        comes first: then every lane is ready. After a burst as many come evenly: all parts work at
        once then, and in small batches, which cost more a message.
        """
        seed = self.settings.seed
        warm = self._traffic(devices=_FIRST_DEVICES, seed=seed + 1)
        self._rate(warm, partial(warm.as_fast_as_it_can, seconds=1))
        burst = self._traffic(devices=_CALIBRATION_DEVICES, seed=seed + 2)
        burst_per_s = self._rate(burst, partial(burst.as_fast_as_it_can, seconds=_BURST_S))
        even = self._traffic(devices=_devices(burst_per_s), seed=seed + 3)
        even_per_s = self._rate(even, partial(_send_evenly, even))
        tell(f"soak: {burst_per_s:.0f} messages a second in a burst, {even_per_s:.0f} evenly")
        give_up_s = time.monotonic() + _CALIBRATED_WITHIN_S_MAX
        while self._waiting() > _WAITING_MAX and time.monotonic() < give_up_s:
            time.sleep(_LOOK_EVERY_S)
        return min(burst_per_s, even_per_s), [warm, burst, even]

    def _rate(self, traffic: Traffic, send: Callable[[], None]) -> float:
        began_s, there = time.monotonic(), self._events_in_lake()
        send()
        self._wait_for_lake(there + _DONE_SHARE * _events(traffic))
        return _DONE_SHARE * traffic.accepted() / (time.monotonic() - began_s)

    def _waiting(self) -> int:
        return sum(self.observer.history[-1].by_place.values())

    def _wait_for_lake(self, events: float) -> None:
        give_up_s = time.monotonic() + _CALIBRATED_WITHIN_S_MAX
        while self._events_in_lake() < events and time.monotonic() < give_up_s:
            time.sleep(_LOOK_EVERY_S)

    def _events_in_lake(self) -> int:
        lake = LaptopLake(catalog=self.running.platform.settings.folder / LAKE_CATALOG)
        with suppress(LakeMissingError):
            counted = f"select count(*) from {lake.rows(EVENTS)}"  # noqa: S608 - ours
            found = duckdb.execute(counted).fetchall()
            return int(found[0][0])
        return 0

    def _rows_twice(self) -> int:
        """Rows of the lake's events beyond one for each; once the ledger has waited for them."""
        lake = LaptopLake(catalog=self.running.platform.settings.folder / LAKE_CATALOG)
        counted = f"select count(*) - count(distinct (stream, id)) from {lake.rows(EVENTS)}"  # noqa: S608 - ours
        return int(duckdb.execute(counted).fetchall()[0][0])

    def _traffic(self, *, devices: int, seed: int) -> Traffic:
        registry = self.running.platform.registry
        return Traffic.of(self.api, registry, devices=devices, seed=seed)

    def _memory(self, began_s: float, ended_s: float) -> tuple[MemoryVerdict, ...]:
        return tuple(
            memory_verdict(role, samples, began_s=began_s, ended_s=ended_s)
            for role, samples in self.memory.by_role.items()
        )

    def _ledger(self, runs: list[Traffic]) -> Ledger:
        receipts = [receipt for one in runs for receipt in one.receipts()]
        self.observer.stop()
        return self.running.ledger_to_the_lake(
            receipts,
            self.observer.evidence,
            self.observer,
            limits=_SETTLING,
            lake_limits=_LAKE_SETTLING,
        )


def _devices(messages_per_s: float) -> int:
    return round(messages_per_s * ROUND_S / _MESSAGES_A_DEVICE)


def _send_evenly(traffic: Traffic) -> None:
    with traffic.steady():
        time.sleep(_EVEN_S)


def _events(traffic: Traffic) -> int:
    return sum(one.events or 0 for one in traffic.receipts())


def _with_a_lake_as_quick_as_the_rest(platform: Platform) -> None:
    """At a laptop's niceness it falls behind for hours: lanes take what cores they are given."""
    platform.jobs[Application.LAKE].niceness = 0


@contextmanager
def platform_to_soak(settings: SoakSettings) -> Iterator[Soak]:
    """Start a platform on a folder of its own, its lake included, and all that watches it."""
    data, clock_file = settings.folder / "data", settings.folder / "clock"
    disk = SmallDisk.mounted(data / "jobs", size_mib=JOBS_DISK_MIB)
    restarts: list[Restart] = []
    platform_settings = PlatformSettings(
        folder=data,
        gateway_module=MODULE,
        functions_environment={CLOCK_FILE_VARIABLE: str(clock_file)},
    )
    try:
        with running_platform(
            platform_settings,
            is_whole=True,
            on_restart=lambda name: restarts.append(Restart(name=name, at_s=time.time())),
            before_jobs=_with_a_lake_as_quick_as_the_rest,
        ) as running:
            platform = running.platform
            evidence = Evidence(deduped=deduped_streams(platform.flows))
            observer, memory = Observer(platform, evidence), MemorySampler(platform)
            with closing(HttpApi(platform.endpoints.api, connections=CONNECTIONS)) as api:
                reach = Reach(running=running, clock_file=clock_file, jobs_disk=disk)
                yield Soak(
                    settings=settings,
                    running=running,
                    faults=DealtFaults(settings, reach, observer, restarts),
                    observer=observer,
                    memory=memory,
                    api=api,
                )
            observer.close()
    finally:
        if disk is not None:
            disk.unmount()
