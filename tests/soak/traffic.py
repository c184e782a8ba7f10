"""The simulated fleet, round after round: as fast as it can, or at a steady rate."""

import time
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from threading import Event
from typing import Final

from clients.device_api import UPLOADED
from clients.devices.registry import RegisteredDevice
from local.simulator.device import ACCEPTED
from local.simulator.http_api import HttpApi
from local.simulator.sendings import FleetPlan
from local.simulator.simulator import FleetRun, Registry, run_fleet
from operations.ledger.message_results import Receipt

ROUND_S: Final = 60.0
CONNECTIONS: Final = 64
_ROUNDS_AT_ONCE: Final = 16
"""In an outage devices are not done with a round when the next one begins."""
_PATIENCE_S: Final = 1_800.0
"""Longer than any outage: whoever gives up leaves a gap in what is sent."""


class _Registered:
    """A registry for devices that are registered already."""

    def register_all(self, devices: Iterable[RegisteredDevice]) -> None:
        for _ in devices:
            pass


@dataclass(slots=True, kw_only=True)
class Traffic:
    """A fleet that sends in rounds, the same devices in each; ``runs`` is what came of them."""

    api: HttpApi
    registry: Registry
    plan: FleetPlan
    runs: list[FleetRun] = field(default_factory=list)
    _rounds: int = 0

    @classmethod
    def of(cls, api: HttpApi, registry: Registry, *, devices: int, seed: int) -> "Traffic":
        plan = FleetPlan(devices=devices, seed=seed, patience_s=_PATIENCE_S)
        return cls(api=api, registry=registry, plan=plan)

    def as_fast_as_it_can(self, *, seconds: float) -> None:
        """Send one round after another for so long; blocks until the last one is done."""
        until_s = time.monotonic() + seconds
        while time.monotonic() < until_s:
            self._run(self._next_plan(seconds=None))

    @contextmanager
    def steady(self) -> Iterator[None]:
        """Send a round a minute while in the block; its end waits until all devices are done."""
        over = Event()
        with ThreadPoolExecutor(_ROUNDS_AT_ONCE + 1) as pool:
            beginning = pool.submit(self._begin_rounds, pool, over)
            try:
                yield
            finally:
                over.set()
            for run in beginning.result():
                run.result()

    def receipts(self) -> Iterator[Receipt]:
        for run in self.runs:
            yield from run.receipts()

    def surprises(self) -> list[str]:
        """Answers that a device should not have had."""
        return [line for run in self.runs for line in run.surprises()]

    def accepted(self) -> int:
        """How many messages were accepted, each counted once."""
        finals = (message.final for run in self.runs for message in run.sent)
        return sum(one.status in (ACCEPTED, UPLOADED) for one in finals)

    def _begin_rounds(self, pool: ThreadPoolExecutor, over: Event) -> list[Future[None]]:
        begun, next_s = list[Future[None]](), time.monotonic()
        while not over.wait(max(0.0, next_s - time.monotonic())):
            begun.append(pool.submit(self._run, self._next_plan(seconds=ROUND_S)))
            next_s += ROUND_S
        return begun

    def _next_plan(self, *, seconds: float | None) -> FleetPlan:
        plan = replace(self.plan, round_number=self._rounds, seconds=seconds)
        self._rounds += 1
        return plan

    def _run(self, plan: FleetPlan) -> None:
        registry: Registry = self.registry if plan.round_number == 0 else _Registered()
        self.runs.append(run_fleet(plan, self.api, registry=registry))
