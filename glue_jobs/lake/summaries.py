"""A row a device, stream and day, and a row a stream and hour, of whole days."""

from typing import Final

from pyspark.sql import DataFrame

from fleetlane.events.lake.queries import queries
from fleetlane.events.lake.tables import DAILY, HOURLY, LATE_MESSAGE_AFTER_MS, MADE_UP, LakeTable
from fleetlane.events.metadata import OUTCOMES_BY_RANK
from fleetlane.events.times import DAY_MS, HOUR_MS, MILLIS_MAX, MILLIS_MIN

SETTLED_AFTER_MS: Final = 600_000
"""So long after its end an hour is counted: its last messages are mostly parsed by then."""

LAG_MS_MAX: Final = 400 * DAY_MS
"""A longer lag counts as this."""

_LAGS: Final = {"lag_ms_max": LAG_MS_MAX, "late_ms": LATE_MESSAGE_AFTER_MS}
_TIMES: Final = {"millis_min": MILLIS_MIN, "millis_max": MILLIS_MAX}
_OUTCOMES: Final = tuple(map(str, OUTCOMES_BY_RANK))
_SQL: Final = queries(
    __package__,
    "summaries.sql",
    made_up=MADE_UP,
    outcomes=_OUTCOMES,
    hour_ms=HOUR_MS,
    **_LAGS,
    **_TIMES,
)


def daily_rows(received: DataFrame, parsed: DataFrame) -> DataFrame:
    """Count messages by device, stream and day, with what became of them.

    Needs rows of ``received`` and ``parsed``, of the same whole days; gives those of ``daily``.
    """
    return _rows(DAILY, received, parsed)


def closed_hour_ms(latest_ms: int) -> int:
    """The last hour that is over where arrivals come to ``latest_ms``; below 0 if none is."""
    settled_ms = latest_ms - SETTLED_AFTER_MS
    return settled_ms - settled_ms % HOUR_MS - HOUR_MS


def hourly_rows(received: DataFrame, parsed: DataFrame, *, closed_ms: int) -> DataFrame:
    """Count devices and messages by stream and hour, up to the hour that begins at ``closed_ms``.

    Needs rows as ``daily_rows``; gives those of ``hourly``.
    """
    return _rows(HOURLY, received, parsed, closed_ms=closed_ms)


def _rows(table: LakeTable, received: DataFrame, parsed: DataFrame, **given: int) -> DataFrame:
    named = {"received": received, "parsed": parsed}
    rows = received.sparkSession.sql(_SQL[table.name], args=given, **named)
    return rows.select(*table.column_names)
