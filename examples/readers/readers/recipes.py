"""What to do with events in PySpark: windows of event time, and a join of two streams of a device.

Both are for rows of the lake's table ``events``, whole days or the hours that ``buckets`` says have
changed: what is late makes its window anew. No watermark: that would trust devices' clocks, and a
single one that is years ahead would make all others late.
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F


def by_window(events: DataFrame, *measures: Column, length: str = "5 minutes") -> DataFrame:
    """A row for each device and window of event time that has events with a plausible time.

    Needs device_id string, event_ms long, time_quality string, and what ``measures`` aggregate, as
    in ``F.avg(F.get_json_object("data", "$.speed")).alias("speed")``. Gives device_id, begins
    timestamp, events long, and the measures.
    """
    at = F.timestamp_millis("event_ms")
    return (
        events.where("time_quality = 'ok'")
        .groupBy("device_id", F.window(at, length).start.alias("begins"))
        .agg(F.count("*").alias("events"), *measures)
    )


def each_with_latest(events: DataFrame, others: DataFrame, *, within_s: int) -> DataFrame:
    """Each of ``events`` with the latest of ``others`` that its device had by then.

    Of both sides those with a plausible time; of the same millisecond the other counts as before.
    Needs of each id string, device_id string, event_ms long, time_quality string, data string.
    Gives id, device_id, event_ms, data, other_data: null where the latest is older, or there is
    none.
    """
    sides = [
        side.where("time_quality = 'ok'").select(
            "id", "device_id", "event_ms", "data", F.lit(is_other).alias("is_other")
        )
        for side, is_other in ((events, False), (others, True))
    ]
    earlier = (
        Window.partitionBy("device_id")
        .orderBy("event_ms", F.desc("is_other"), "id")
        .rowsBetween(Window.unboundedPreceding, Window.currentRow)
    )
    other = F.when(F.col("is_other"), F.struct("event_ms", "data"))
    latest = F.last(other, ignorenulls=True).over(earlier)
    is_near = F.col("event_ms") - F.col("latest.event_ms") <= within_s * 1_000
    return (
        sides[0]
        .unionByName(sides[1])
        .withColumn("latest", latest)
        .where(~F.col("is_other"))
        .withColumn("other_data", F.when(is_near, F.col("latest.data")))
        .select("id", "device_id", "event_ms", "data", "other_data")
    )
