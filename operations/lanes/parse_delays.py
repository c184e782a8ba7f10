"""How long messages wait from arrival to parsing, within a time range."""

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
    """Median and p95 of the delays of ``messages``."""

    messages: int
    p50_s: float
    p95_s: float

    def __str__(self) -> str:
        return f"p50 {self.p50_s:.1f} s, p95 {self.p95_s:.1f} s ({self.messages:,} messages)"


class ParseDelays:
    """Measures records of ``fleet.parsed``, except of the ``excluded`` devices.

    Only first attempts that were parsed in the standard lane count: most of a fleet sends there.
    """

    def __init__(self, *, excluded: Collection[str]) -> None:
        self._excluded = frozenset(excluded)
        self._arrived_parsed: list[tuple[int, int]] = []

    def fold(self, records: Iterable[Record]) -> None:
        for record in records:
            if record.topic == FLEET_PARSED:
                self._fold_attempt(record)

    def between(self, since_ms: int, until_ms: int) -> Delays | None:
        """Of messages that arrived in this range, its end excluded; ``None`` if there are none."""
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
        is_first_parsed = row.attempt == 1 and row.outcome is Outcome.PARSED
        is_measured = is_first_parsed and row.lane is Lane.STANDARD
        if is_measured and row.received_ms is not None and row.device_id not in self._excluded:
            self._arrived_parsed.append((row.received_ms, row.parsed_ms))


def _quantile(values_ms: list[int], share: float) -> float:
    """The least value that this share does not exceed, in seconds; ``values_ms`` are sorted."""
    return values_ms[max(0, math.ceil(share * len(values_ms)) - 1)] / 1_000
