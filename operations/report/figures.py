"""What the page shows: the answers to all its questions as of one time."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from operations.fleet import devices, traffic
from operations.fleet.fleet import Fleet
from operations.fleet.questions import Table

REPORT_DAYS: Final = 7
"""The window of every figure except the coverage by day and when a device last reported."""

_ASKED: Final = (
    *(devices.SILENT, traffic.LATE, traffic.LAGS, traffic.FIRMWARE, traffic.SIZES),
    *(traffic.SIZE_BINS, traffic.COMPRESSION, traffic.PARSERS),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetFigures:
    """``answers`` are by the names of their questions.

    ``latest_ms`` is the arrival of the latest message in the lake; ``None`` if it is empty.
    """

    asked_at_ms: int
    latest_ms: int | None
    answers: Mapping[str, Table]

    @property
    def registered(self) -> int:
        return int(self.answers["coverage"].rows[0]["registered"])

    @property
    def never_reported(self) -> int:
        return sum(device["last_ms"] is None for device in self.answers["silent"].rows)

    @property
    def fell_silent(self) -> int:
        return len(self.answers["silent"].rows) - self.never_reported

    @property
    def with_end_time(self) -> int:
        """Messages that state the end of their data."""
        return sum(one["messages"] for one in self.answers["lags"].rows)

    @property
    def over_an_hour_late(self) -> int:
        return sum(one["messages"] for one in self.answers["lags"].rows if traffic.is_late(one))

    @property
    def malformed(self) -> int:
        return sum(one["malformed"] for one in self.answers["firmware"].rows)


def figures_of(fleet: Fleet) -> FleetFigures:
    """Ask all of it."""
    coverage, by_day = devices.coverage(fleet), fleet.ask(devices.COVERAGE_BY_DAY)
    found = (coverage, by_day, *(fleet.ask(one, days=REPORT_DAYS) for one in _ASKED))
    return FleetFigures(
        asked_at_ms=fleet.asked_at_ms,
        latest_ms=fleet.latest_ms(),
        answers={one.name: one for one in found},
    )
