"""One row a device, stream and day, computed again for the days that a batch touches."""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from fleetlane.events.errors import ParkedReason
from fleetlane.events.lake.tables import DAILY, LATE_MESSAGE_AFTER_MS
from fleetlane.events.metadata import Outcome

_RANKS: Final = (Outcome.DIVERTED, Outcome.PARKED, Outcome.EMPTY, Outcome.PARSED)
"""Of a message's attempts the one with the last of these counts."""


def daily_rows(received: DataFrame, parsed: DataFrame) -> DataFrame:
    """Count messages by device, stream and day, with what became of them.

    Needs rows of the tables ``received`` and ``parsed``, of the same days and of whole days; gives
    those of ``daily``.
    """
    message = received.join(final_outcomes(parsed), ["day", "id"], "left")
    lag_ms = F.greatest(F.col("received_ms") - F.col("end_ms"), F.lit(0))
    last = F.struct("received_ms", "source_partition", "source_offset")
    rows = message.groupBy("day", "device_id", "stream").agg(
        F.count(F.lit(1)).alias("messages"),
        F.sum("body_bytes").alias("body_bytes"),
        F.max("body_bytes").alias("body_bytes_max"),
        F.count_if("by_reference").alias("by_reference"),
        F.min("received_ms").alias("first_received_ms"),
        F.max("received_ms").alias("last_received_ms"),
        F.count("end_ms").alias("lag_messages"),
        _sum(lag_ms).alias("lag_ms_sum"),
        F.coalesce(F.max(lag_ms), F.lit(0)).alias("lag_ms_max"),
        F.count_if(lag_ms > LATE_MESSAGE_AFTER_MS).alias("late_messages"),
        *(F.count_if(F.col("outcome") == one).alias(one) for one in _RANKS[1:]),
        F.count_if(_is_parked_as(ParkedReason.MALFORMED)).alias("malformed"),
        _sum(F.col("events")).alias("events"),
        _sum(F.col("parse_us")).alias("parse_us_sum"),
        F.coalesce(F.max("parse_us"), F.lit(0)).alias("parse_us_max"),
        _sum(F.when(F.col("inflated_bytes") > 0, F.col("body_bytes"))).alias("parsed_body_bytes"),
        _sum(F.col("inflated_bytes")).alias("inflated_bytes"),
        *(F.max_by(name, last).alias(name) for name in ("device_type", "firmware", "via")),
        F.max(F.when(F.col("via").isNull(), F.col("received_ms"))).alias("heard_ms"),
        F.max(F.when(F.col("via").isNotNull(), F.col("received_ms"))).alias("gateway_ms"),
    )
    return rows.select(*DAILY.column_names)


def final_outcomes(parsed: DataFrame) -> DataFrame:
    """The attempt that counts of each message: parsed > empty > parked > diverted, then the last.

    Gives day, id, outcome, reason, events, parse_us and inflated_bytes.
    """
    ranks = F.array(*(F.lit(outcome) for outcome in _RANKS))
    order = F.struct(F.array_position(ranks, F.col("outcome")), F.col("attempt"))
    row = F.struct("outcome", "reason", "events", "parse_us", "inflated_bytes")
    return (
        parsed.groupBy("day", "id").agg(F.max_by(row, order).alias("t")).select("day", "id", "t.*")
    )


def _sum(column: Column) -> Column:
    return F.coalesce(F.sum(column), F.lit(0))


def _is_parked_as(reason: ParkedReason) -> Column:
    return (F.col("outcome") == Outcome.PARKED) & (F.col("reason") == reason)
