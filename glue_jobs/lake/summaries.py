"""A row a device, stream and day, and a row a stream and hour, of whole days."""

from importlib.resources import files
from string import Template
from typing import Final

from pyspark.sql import DataFrame

from fleetlane.events.lake.tables import DAILY, HOURLY, LATE_MESSAGE_AFTER_MS, MADE_UP, LakeTable
from fleetlane.events.times import DAY_MS, HOUR_MS, MILLIS_MAX, MILLIS_MIN

SETTLED_AFTER_MS: Final = 600_000
"""So long after its end an hour is counted: its last messages are mostly parsed by then."""

LAG_MS_MAX: Final = 400 * DAY_MS
"""A longer lag counts as this."""

_SQL: Final = dict(
    part.split("\n", 1)
    for part in files(__package__).joinpath("summaries.sql").read_text().split("-- name: ")[1:]
)


def daily_rows(received: DataFrame, parsed: DataFrame) -> DataFrame:
    """Count messages by device, stream and day, with what became of them.

    Needs rows of the tables ``received`` and ``parsed``, of the same days and of whole days; gives
    those of ``daily``.
    """
    limits = {"millis_min": MILLIS_MIN, "millis_max": MILLIS_MAX, "lag_ms_max": LAG_MS_MAX}
    return _rows(DAILY, received, parsed, late_ms=LATE_MESSAGE_AFTER_MS, **limits)


def closed_hour_ms(latest_ms: int) -> int:
    """The last hour that is over where arrivals come to ``latest_ms``; below 0 if none is."""
    settled_ms = latest_ms - SETTLED_AFTER_MS
    return settled_ms - settled_ms % HOUR_MS - HOUR_MS


def hourly_rows(received: DataFrame, parsed: DataFrame, *, closed_ms: int) -> DataFrame:
    """Count devices and messages by stream and hour, up to the hour that begins at ``closed_ms``.

    Needs rows as ``daily_rows``; gives those of ``hourly``.
    """
    return _rows(HOURLY, received, parsed, made_up=MADE_UP, closed_ms=closed_ms)


def _rows(table: LakeTable, received: DataFrame, parsed: DataFrame, **known: object) -> DataFrame:
    sql = Template(_SQL[table.name]).substitute(known, final=_SQL["final"])
    rows = received.sparkSession.sql(sql, received=received, parsed=parsed)
    return rows.select(*table.column_names)
