"""How long messages wait from arrival to parsing, in one span of time and in another."""

import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass

import msgspec

from clients.kafka.reader import Record
from fleetlane.events.lanes import Lane
from fleetlane.events.metadata import Outcome, parsed_from
from fleetlane.events.topics import FLEET_PARSED


@dataclass(frozen=True, slots=True, kw_only=True)
class Delays:
    """Of so many ``messages``, what half and what nearly all of them waited at most."""

    messages: int
    p50_s: float
    p95_s: float

    def __str__(self) -> str:
        return f"p50 {self.p50_s:.1f} s, p95 {self.p95_s:.1f} s ({self.messages:,} messages)"


class ParseDelays:
    """Folds records of ``fleet.parsed``; others do not count, nor what one of ``apart`` sent.

    It looks at first attempts that parsed in the standard lane: there most of a fleet sends.
    """

    def __init__(self, *, apart: Collection[str]) -> None:
        self._apart = frozenset(apart)
        self._arrived_parsed: list[tuple[int, int]] = []

    def fold(self, records: Iterable[Record]) -> None:
        for record in records:
            if record.topic == FLEET_PARSED:
                self._fold_attempt(record)

    def between(self, since_ms: int, until_ms: int) -> Delays | None:
        """Of those that arrived in this time, its end left out; ``None`` where none did."""
        waited = sorted(
            parsed_ms - arrived_ms
            for arrived_ms, parsed_ms in self._arrived_parsed
            if since_ms <= arrived_ms < until_ms
        )
        if not waited:
            return None
        return Delays(
            messages=len(waited), p50_s=_quantile(waited, 0.5), p95_s=_quantile(waited, 0.95)
        )

    def _fold_attempt(self, record: Record) -> None:
        try:
            row = parsed_from(record.value or b"")
        except msgspec.DecodeError:
            return
        is_plain = row.lane is Lane.STANDARD and row.attempt == 1 and row.outcome is Outcome.PARSED
        if is_plain and row.received_ms is not None and row.device_id not in self._apart:
            self._arrived_parsed.append((row.received_ms, row.parsed_ms))


def _quantile(values_ms: list[int], share: float) -> float:
    """The least value that so many are not above, in seconds; ``values_ms`` are in order."""
    return values_ms[max(0, math.ceil(share * len(values_ms)) - 1)] / 1_000
