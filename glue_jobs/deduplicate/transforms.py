"""From canonical records to those whose event did not come within the window, in the JVM."""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from fleetlane.events.topics import unique_topic

STATE: Final = "ids and revisions of events, in RocksDB"
"""What the query keeps between batches; change this name whenever that changes."""


def unique_records(canonical: DataFrame, *, stream: str, window_s: int) -> DataFrame:
    """Leave out events that came within the window already; records stay as they are.

    Needs the columns of ``raw_records``; gives topic string, and key, value, headers untouched.
    A key is forgotten by when it was read, not by any time of a record's: whatever lags, or was
    in the spool for days, is new when it is new.
    """
    return (
        canonical.withColumn("event", _event())
        .withColumn("read_at", F.current_timestamp())
        .withWatermark("read_at", f"{window_s} seconds")
        .dropDuplicatesWithinWatermark(["event"])
        .select(F.lit(unique_topic(stream)).alias("topic"), "key", "value", "headers")
    )


def _event() -> Column:
    """What makes two records the same event. One that is no event of ours is like no other."""
    read = F.from_json(F.col("value").cast("string"), "id string, revision int")
    place = F.concat_ws("/", "topic", "partition", "offset")
    return F.coalesce(F.concat(read["id"], F.lit("#"), read["revision"].cast("string")), place)
