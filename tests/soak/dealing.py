"""Faults that befall a running platform one after another, and what became of each."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from fleetlane.events.errors import FleetlaneError
from tests.soak.backlog import Observer
from tests.soak.faults import FAULTS, JOBS_DISK_FULL, Fault, Reach, dealt
from tests.soak.judgement import FaultRecord, fault_record, recovery_s_max
from tests.soak.report import seconds, tell

_LOOK_EVERY_S: Final = 1.0
_NO_BATCH_S_MAX: Final = 300.0
"""How long a first batch after a fault is waited for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SoakSettings:
    """How long, how often a fault, and the seed that deals faults and makes the fleet."""

    minutes: float
    fault_every_s: float
    seed: int
    folder: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Restart:
    """A part that had died and was started again."""

    name: str
    at_s: float


class DealtFaults:
    """Deals faults by a seed; ``records`` is what became of them.

    ``restarts`` is filled by whoever keeps the parts running.
    """

    def __init__(
        self, settings: SoakSettings, reach: Reach, observer: Observer, restarts: Sequence[Restart]
    ) -> None:
        self._settings, self._reach = settings, reach
        self._observer, self._restarts = observer, restarts
        self.records: list[FaultRecord] = []
        self.left_out: Mapping[str, str] = (
            {}
            if reach.jobs_disk is not None
            else {JOBS_DISK_FULL: "this machine lets us mount no tmpfs"}
        )

    def deal(self, normal: Mapping[str, int], *, until_s: float) -> None:
        """Let one fault befall after another, each once the one before is over and forgotten."""
        for fault in dealt(self._settings.seed, without=frozenset(self.left_out)):
            began_s = time.time()
            record = self._befallen(fault, normal)
            self.records.append(record)
            tell(
                f"soak: outage {seconds(record.outage_s)} s, recovery"
                f" {seconds(record.recovery_s)} s of at most {record.recovery_s_max:.0f} s"
            )
            next_s = max(began_s + self._settings.fault_every_s, time.time())
            if next_s + fault.length_s > until_s:
                time.sleep(max(0.0, until_s - time.time()))
                return
            time.sleep(max(0.0, next_s - time.time()))

    def calm_restarts(self, since_s: float) -> Iterator[str]:
        """Parts that died while no fault was under way or being recovered from."""
        spans = [(one.began_s, _over_s(one)) for one in self.records]
        for one in self._restarts:
            if one.at_s > since_s and not any(begin <= one.at_s <= end for begin, end in spans):
                yield f"{one.name}, {one.at_s - since_s:.0f} s after the beginning"

    def _befallen(self, fault: Fault, normal: Mapping[str, int]) -> FaultRecord:
        tell(f"soak: {fault.kind} for {fault.length_s} s")
        restarts_before, began_s = len(self._restarts), time.time()
        try:
            with self._reach.running.keeper.away(), FAULTS[fault.kind](self._reach):
                time.sleep(fault.length_s)
        except FleetlaneError as problem:  # whoever keeps the parts running tries again
            tell(f"soak: {problem}")
        ended_s = time.time()
        while True:
            self._observer.check()
            history, outcomes = list(self._observer.history), self._observer.outcomes
            record = fault_record(
                fault.kind, (began_s, ended_s), history, normal, outcomes.first_row_s
            )
            if record.recovery_s is not None or time.time() > _given_up_s(record):
                names = tuple(one.name for one in self._restarts[restarts_before:])
                return replace(record, restarts=names)
            time.sleep(_LOOK_EVERY_S)


def _given_up_s(record: FaultRecord) -> float:
    """When a backlog that is still there was there for twice as long as it may be."""
    if record.outage_s is None:
        return record.ended_s + _NO_BATCH_S_MAX
    return record.began_s + record.outage_s + 2 * recovery_s_max(record.outage_s)


def _over_s(record: FaultRecord) -> float:
    """When a fault was recovered from; long after it where it never was."""
    if record.outage_s is None or record.recovery_s is None:
        return _given_up_s(record)
    return record.began_s + record.outage_s + record.recovery_s
