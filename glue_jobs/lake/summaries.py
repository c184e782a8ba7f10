"""A row a device, stream and day, and a row a stream and hour, of whole days."""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from fleetlane.events.errors import ParkedReason
from fleetlane.events.lake.tables import DAILY, HOURLY, LATE_MESSAGE_AFTER_MS, MADE_UP
from fleetlane.events.metadata import OUTCOMES_BY_RANK, Outcome
from fleetlane.events.times import DAY_MS, HOUR_MS, MILLIS_MAX, MILLIS_MIN
from glue_jobs.engine.hours import hour_of

SETTLED_AFTER_MS: Final = 600_000
"""So long after its end an hour is counted: its last messages are mostly parsed by then."""

LAG_MS_MAX: Final = 400 * DAY_MS
"""A longer lag counts as this. The lags of a device whose clock is in year 1 would have no
room in 64 bits within a day."""


def daily_rows(received: DataFrame, parsed: DataFrame) -> DataFrame:
    """Count messages by device, stream and day, with what became of them.

    Needs rows of the tables ``received`` and ``parsed``, of the same days and of whole days; gives
    those of ``daily``.
    """
    message = received.join(final_outcomes(parsed), ["day", "id"], "left")
    end_ms = F.when(F.col("end_ms").between(MILLIS_MIN, MILLIS_MAX), F.col("end_ms"))
    lag_ms = F.least(F.greatest(F.col("received_ms") - end_ms, F.lit(0)), F.lit(LAG_MS_MAX))
    is_parked = F.col("outcome") == Outcome.PARKED
    last = F.struct("received_ms", "source_partition", "source_offset")
    rows = message.groupBy("day", "device_id", "stream").agg(
        F.count(F.lit(1)).alias("messages"),
        _sum(F.col("body_bytes")).alias("body_bytes"),
        F.max("body_bytes").alias("body_bytes_max"),
        F.count_if("by_reference").alias("by_reference"),
        F.min("received_ms").alias("first_received_ms"),
        F.max("received_ms").alias("last_received_ms"),
        F.count(end_ms).alias("lag_messages"),
        _sum(lag_ms).alias("lag_ms_sum"),
        F.coalesce(F.max(lag_ms), F.lit(0)).alias("lag_ms_max"),
        F.count_if(lag_ms > LATE_MESSAGE_AFTER_MS).alias("late_messages"),
        *(F.count_if(F.col("outcome") == one).alias(one) for one in OUTCOMES_BY_RANK[1:]),
        F.count_if(is_parked & (F.col("reason") == ParkedReason.MALFORMED)).alias("malformed"),
        _sum(F.col("events")).alias("events"),
        _sum(F.col("parse_us")).alias("parse_us_sum"),
        F.coalesce(F.max("parse_us"), F.lit(0)).alias("parse_us_max"),
        _sum(F.when(F.col("inflated_bytes") > 0, F.col("body_bytes"))).alias("parsed_body_bytes"),
        *(_sum(F.col(name)).alias(name) for name in ("inflated_bytes", "output_bytes")),
        *(F.max_by(name, last).alias(name) for name in ("device_type", "firmware", "via")),
        F.max(F.when(F.col("via").isNull(), F.col("received_ms"))).alias("heard_ms"),
        F.max(F.when(F.col("via").isNotNull(), F.col("received_ms"))).alias("gateway_ms"),
    )
    return rows.select(*DAILY.column_names)


def final_outcomes(parsed: DataFrame) -> DataFrame:
    """The attempt that counts of each message: parsed > empty > parked > diverted, then the last.

    Gives day, id, outcome, reason, events, parse_us, inflated_bytes and output_bytes.
    """
    ranks = F.array(*(F.lit(outcome) for outcome in OUTCOMES_BY_RANK))
    order = F.struct(F.array_position(ranks, F.col("outcome")), F.col("attempt"))
    row = F.struct("outcome", "reason", "events", "parse_us", "inflated_bytes", "output_bytes")
    final = parsed.groupBy("day", "id").agg(F.max_by(row, order).alias("t"))
    return final.select("day", "id", "t.*")


def closed_hour_ms(latest_ms: int) -> int:
    """The last hour that is over where arrivals come to ``latest_ms``; below 0 if none is."""
    settled_ms = latest_ms - SETTLED_AFTER_MS
    return settled_ms - settled_ms % HOUR_MS - HOUR_MS


def hourly_rows(received: DataFrame, parsed: DataFrame, *, closed_ms: int) -> DataFrame:
    """Count devices and messages by stream and hour, up to the hour that begins at ``closed_ms``.

    Needs rows of the tables ``received`` and ``parsed``, of the same days and of whole days; gives
    those of ``hourly``. What was made up is in no hour.
    """
    sent = received.where(F.col("source_topic") != MADE_UP)
    message = sent.join(final_outcomes(parsed), ["day", "id"], "left")
    by_device = (
        message.withColumn("hour_ms", hour_of("received_ms"))
        .where(F.col("hour_ms") <= closed_ms)
        .groupBy("day", "hour_ms", "stream", "device_id")
        .agg(
            F.bool_or(F.col("via").isNull()).alias("itself"),
            F.count(F.lit(1)).alias("messages"),
            *(F.count_if(F.col("outcome") == one).alias(one) for one in OUTCOMES_BY_RANK[1:]),
        )
    )
    rows = by_device.groupBy("day", "hour_ms", "stream").agg(
        F.count_if("itself").alias("devices"),
        F.count_if(~F.col("itself")).alias("through_gateway"),
        *(F.sum(name).alias(name) for name in ("messages", *OUTCOMES_BY_RANK[1:])),
    )
    return rows.select(*HOURLY.column_names)


def _sum(column: Column) -> Column:
    """0 where 64 bits do not hold it: an overflow would end the query, at this batch for ever."""
    return F.coalesce(F.try_sum(column), F.lit(0))
