"""The demonstration: the whole platform under a simulated fleet, and the ledger of it."""

import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from clients.kafka.reader import KafkaReader
from fleetlane.events import canary
from fleetlane.events.lanes import LaneTrigger
from fleetlane.events.times import now_ms
from local.checkout import ROOT
from local.data_folder import announced, taken_data_folder
from local.demo.history import write_history
from local.demo.report import standing_that_covers, write_report_of
from local.platform import Platform, PlatformSettings
from local.simulator.http_api import HttpApi
from local.simulator.runaway_device import RunawayRun, run_runaway_device, runaway_id
from local.simulator.sendings import FleetPlan
from local.simulator.simulator import FleetProgress, FleetRun, landed, run_fleet
from local.spark.jobs import jobs_of
from operations.lake import lake_of
from operations.lanes.tally import Delays, MeasuredSource
from operations.ledger.evidence import LEDGER_TOPICS, Evidence, deduped_streams
from operations.ledger.lake_settling import wait_for_lake
from operations.ledger.reconciliation import Ledger, SettlingLimits, reconcile, wait_until_settled
from operations.ledger.standing import StandingLedger
from operations.platform import Platform as OperatorsPlatform

_FOLDER: Final = ROOT / "build" / "demo"
DATA: Final = _FOLDER / "data"
"""The platform's data folder, of the demonstration alone: emptied at each start."""
LEDGER: Final = _FOLDER / "ledger.json"
REPORT: Final = _FOLDER / "fleet-report.html"
_JOBS: Final = jobs_of(fast_trigger=LaneTrigger.REAL_TIME)

_FIRST_DEVICES: Final = 40
_SENDING_S: Final = 20.0
_RUNAWAY_AFTER_S: Final = 5.0
"""How long the fleet sends before one of its devices runs away."""

_POLL_INTERVAL_S: Final = 0.5
_LAKE_LIMITS: Final = SettlingLimits(deadline_s=120, quiet_s=120, poll_interval_s=1)
_SETTLING_LIMITS: Final = SettlingLimits(deadline_s=300, quiet_s=90)
"""A busy machine may need more than a minute until its Spark jobs run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoProgress(FleetProgress):
    """How far it is. ``waiting`` are accepted messages without an outcome, once all are sent."""

    waiting: int | None
    elapsed_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoEvents:
    """What is called at each step of the start, at progress, and when a part died.

    ``on_console`` is given the address of the console, which runs as long as the demonstration.
    """

    on_step: Callable[[str], None]
    on_console: Callable[[str], None]
    on_progress: Callable[[DemoProgress], None]
    on_restart: Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoResult:
    """The ledger. ``surprises`` are answers that a device should not have received.

    ``others_before`` and ``others_during`` are the delays of others until the runaway device came,
    and until it was quarantined. The ledger counts the ``canaries`` too. ``standing`` is the
    standing ledger by then; ``None`` where its job has not written yet.
    """

    ledger: Ledger
    surprises: tuple[str, ...]
    runaway: RunawayRun
    others_before: Delays | None
    others_during: Delays | None
    canaries: int
    standing: StandingLedger | None


def run_demo(events: DemoEvents, *, devices: int, seed: int) -> DemoResult:
    """Start a fresh platform, let the fleet send, wait until all has settled, and stop it.

    Blocks for minutes; KeyboardInterrupt leaves nothing running. Writes ``LEDGER``, and ``REPORT``
    about the fleet. Raises what the platform raises that does not start, or does not come back.
    """
    began_s = time.monotonic()
    with (
        taken_data_folder(DATA, fresh=True),
        ThreadPoolExecutor(1) as beside,
        Platform(PlatformSettings(folder=DATA, canary_interval_ms=10_000, jobs=_JOBS)) as platform,
    ):
        LEDGER.unlink(missing_ok=True)
        REPORT.unlink(missing_ok=True)
        history = beside.submit(write_history, platform.lake, now_ms=now_ms())
        endpoints = platform.start(events.on_step, before_jobs=history.result)
        platform.registry.register_all(history.result())
        with announced(endpoints, DATA):
            events.on_console(platform.start_console())
            plan = FleetPlan(devices=devices, seed=seed, seconds=_SENDING_S)
            result = _Demonstration(platform, plan, events, began_s=began_s).run()
    LEDGER.write_bytes(result.ledger.to_json())
    return result


class _Demonstration:
    """A running platform, and what was read of it so far."""

    def __init__(
        self, platform: Platform, plan: FleetPlan, events: DemoEvents, *, began_s: float
    ) -> None:
        self._platform, self._plan, self._events = platform, plan, events
        self._began_s = began_s
        self._evidence = Evidence(deduped=deduped_streams(platform.flows))
        self._sent_before, self._landed_before = 0, Counter[str]()
        self._fleet = FleetProgress(planned=0, finished=0, landed={})

    def run(self) -> DemoResult:
        """Run it, and restart parts that die meanwhile."""
        over, restart = threading.Event(), self._events.on_restart
        with ThreadPoolExecutor(1) as pool:
            running = pool.submit(self._platform.keep_running, until=over, on_restart=restart)
            try:
                result = self._run()
            finally:
                over.set()
            running.result()
        return result

    def _run(self) -> DemoResult:
        with closing(KafkaReader(self._platform.endpoints.kafka, pattern=LEDGER_TOPICS)) as reader:
            excluded = [runaway_id(self._plan.seed), canary.DEVICE_ID]
            source = MeasuredSource(reader, excluded=excluded)
            first = self._run_first(source)
            rest, runaway = self._run_rest(source)
            canaries = self._platform.canary.stop()  # so that nothing of it lands later
            receipts = [*first.receipts(), *rest.receipts(), *runaway.receipts(), *canaries]
            wait_until_settled(
                receipts, self._evidence, source, limits=_SETTLING_LIMITS, on_progress=self._show
            )
        platform = OperatorsPlatform.on_laptop(self._platform.endpoints, DATA)
        ledger = reconcile(
            receipts,
            self._evidence,
            payloads=platform.messages.parked_bodies,
            seconds=time.monotonic() - self._began_s,
            lake=wait_for_lake(
                receipts, self._evidence, partial(lake_of, platform), limits=_LAKE_LIMITS
            ),
        )
        # Of the canary's messages no report knows.
        reported = ledger.accepted - ledger.duplicate + ledger.unanswered - len(canaries)
        write_report_of(platform, REPORT, messages=reported, limits=_LAKE_LIMITS)
        return DemoResult(
            ledger=ledger,
            surprises=(*first.surprises(), *rest.surprises()),
            runaway=runaway,
            others_before=source.between(rest.began_ms, runaway.began_ms),
            others_during=source.between(runaway.began_ms, runaway.free_until_ms),
            canaries=len(canaries),
            standing=standing_that_covers(ledger, platform, limits=_LAKE_LIMITS),
        )

    def _run_first(self, source: MeasuredSource) -> FleetRun:
        """Let a few devices send one message each, and wait for them: then every lane is ready."""
        self._events.on_step("every lane, with the first devices")
        seed = self._plan.seed + 1
        run = self._run_fleet(FleetPlan(devices=_FIRST_DEVICES, messages_per_device=1, seed=seed))
        wait_until_settled(run.receipts(), self._evidence, source, limits=_SETTLING_LIMITS)
        self._sent_before, self._landed_before = len(run.sent), landed(run.sent)
        return run

    def _run_rest(self, source: MeasuredSource) -> tuple[FleetRun, RunawayRun]:
        """Let the others send in this thread, so that Ctrl-C reaches it; read in another.

        In a third, one device runs away amid all that.
        """
        plan = replace(self._plan, devices=self._plan.devices - _FIRST_DEVICES)
        over = threading.Event()
        with ThreadPoolExecutor(2) as pool:
            reading = pool.submit(source.fold_into, self._evidence, until=over)
            runaway = pool.submit(self._run_runaway, over)
            try:
                run = self._run_fleet(plan, on_progress=self._on_fleet_progress)
                while not wait([runaway], timeout=_POLL_INTERVAL_S).done:
                    self._show(None)
            finally:
                over.set()
            reading.result()
        return run, runaway.result()

    def _run_runaway(self, over: threading.Event) -> RunawayRun:
        over.wait(_RUNAWAY_AFTER_S)
        api, seed = self._platform.endpoints.api, self._plan.seed
        return run_runaway_device(api, self._platform.registry, seed=seed, is_over=over.is_set)

    def _run_fleet(
        self, plan: FleetPlan, on_progress: Callable[[FleetProgress], None] = lambda _: None
    ) -> FleetRun:
        with closing(HttpApi(self._platform.endpoints.api)) as api:
            return run_fleet(plan, api, registry=self._platform.registry, on_progress=on_progress)

    def _on_fleet_progress(self, fleet: FleetProgress) -> None:
        self._fleet = fleet
        self._show(None)

    def _show(self, waiting: int | None) -> None:
        self._events.on_progress(
            DemoProgress(
                planned=self._sent_before + self._fleet.planned,
                finished=self._sent_before + self._fleet.finished,
                waiting=waiting,
                landed=self._landed_before + Counter(self._fleet.landed),
                elapsed_s=time.monotonic() - self._began_s,
            )
        )
