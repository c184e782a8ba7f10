"""Times for people: how long ago, or the local date; exact and in UTC with ``--utc``."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Final

import typer

from fleetlane.events.times import DAY_MS, EPOCH, HOUR_MS, MILLIS_MAX, MILLIS_MIN, time_text

_UNITS: Final = ((HOUR_MS, "h"), (60_000, "min"), (1_000, "s"))
_NONE: Final = "\N{EN DASH}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeOptions:
    """How times are shown."""

    utc: Annotated[bool, typer.Option(help="Show exact times, in UTC.")] = False

    def ago(self, at_ms: int | None, now_ms: int) -> str:
        """``3 min ago``; from a day on, and for what is to come, the local date and time."""
        if at_ms is None:
            return _NONE
        age_ms = now_ms - at_ms
        if self.utc or not 0 <= age_ms < DAY_MS:
            return self.exact(at_ms, "minutes")
        texts = (f"{age_ms // size_ms} {unit} ago" for size_ms, unit in _UNITS if age_ms >= size_ms)
        return next(texts, "now")

    def exact(self, at_ms: int, timespec: str = "milliseconds") -> str:
        """Local: ``2026-11-03 15:05:09.123+01:00``, or ``2026-11-03 15:05`` for "minutes"."""
        if self.utc or not MILLIS_MIN + DAY_MS <= at_ms <= MILLIS_MAX - DAY_MS:
            return time_text(at_ms)
        local = (EPOCH + timedelta(milliseconds=at_ms)).astimezone()
        shown = local if timespec == "milliseconds" else local.replace(tzinfo=None)
        return shown.isoformat(" ", timespec)


EXACT: Final = TimeOptions(utc=True)
