"""One row a stream and hour: how many devices reported, and what became of their messages."""

from collections.abc import Iterable
from datetime import UTC, date, datetime
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from fleetlane.events.lake.tables import HOURLY
from fleetlane.events.metadata import Outcome
from fleetlane.events.times import HOUR_MS
from glue_jobs.lake.daily import final_outcomes

SETTLED_AFTER_MS: Final = 600_000
"""So long after its end an hour is counted: its last messages are mostly parsed by then."""

_OUTCOMES: Final = (Outcome.PARSED, Outcome.EMPTY, Outcome.PARKED)


class ClosedHours:
    """Which hours are over, as far as the batches have come, and not counted yet."""

    def __init__(self) -> None:
        self._counted_ms = 0

    def next_after(self, latest_ms: int) -> int | None:
        """The last hour that is over where a batch comes to ``latest_ms``, if it is a new one."""
        settled_ms = latest_ms - SETTLED_AFTER_MS
        closed_ms = settled_ms - settled_ms % HOUR_MS - HOUR_MS
        return closed_ms if closed_ms > self._counted_ms else None

    def counted(self, hour_ms: int) -> None:
        """Take a note that it is counted, and all before it."""
        self._counted_ms = hour_ms


def days_to_count(touched: Iterable[date], *, closed_ms: int) -> list[date]:
    """The days of a batch, and that of the hour that is over; none of those that follow it."""
    closing = datetime.fromtimestamp(closed_ms / 1_000, UTC).date()
    return sorted({closing, *(day for day in touched if day < closing)})


def hourly_rows(received: DataFrame, parsed: DataFrame, *, closed_ms: int) -> DataFrame:
    """Count devices and messages by stream and hour, up to the hour that begins at ``closed_ms``.

    Needs rows of the tables ``received`` and ``parsed``, of the same days and of whole days; gives
    those of ``hourly``.
    """
    hour_ms = F.col("received_ms") - F.expr(f"pmod(received_ms, {HOUR_MS})")
    message = received.join(final_outcomes(parsed), ["day", "id"], "left")
    by_device = (
        message.withColumn("hour_ms", hour_ms)
        .where(F.col("hour_ms") <= closed_ms)
        .groupBy("day", "hour_ms", "stream", "device_id")
        .agg(
            F.bool_or(F.col("via").isNull()).alias("itself"),
            F.count(F.lit(1)).alias("messages"),
            *(F.count_if(F.col("outcome") == one).alias(one) for one in _OUTCOMES),
        )
    )
    rows = by_device.groupBy("day", "hour_ms", "stream").agg(
        F.count_if("itself").alias("devices"),
        F.count_if(~F.col("itself")).alias("through_gateway"),
        *(_summed(name) for name in ("messages", *_OUTCOMES)),
    )
    return rows.select(*HOURLY.column_names)


def _summed(name: str) -> Column:
    return F.sum(name).alias(name)
