"""From records of ``fleet.received`` to how much each device sent, and when it was last seen."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from glue_jobs.kafka.source_and_sink import fields_of

_RECEIVED = (
    "id string, device_id string, stream string, via string, firmware string, received_ms long"
)
_FIRMWARE_CHARS_MAX = 100


def activity(records: DataFrame, *, window_ms: int) -> DataFrame:
    """One row for each device, stream and window of arrival time.

    What landed twice, because its acknowledgement was lost, has one id and one arrival, and counts
    once where both are among ``records``. What a device sends again arrives again, and counts.

    What a gateway brought counts, but shows no sign of life of the device: ``seen_ms`` is its last
    arrival without one, null where there is none, and ``firmware`` is what it declared then.

    It is one task: rows are few and small, and a shuffle would queue twice more for a slot.

    Needs the column value of ``raw_records``; gives device_id string, stream string, window_ms
    long (the window's beginning), messages long, seen_ms long, firmware string.
    """
    received = (
        fields_of(records.coalesce(1), F.from_json(F.col("value").cast("string"), _RECEIVED))
        .dropna(subset=["id", "device_id", "stream", "received_ms"])
        .dropDuplicates(["id", "received_ms"])
    )
    begins = F.col("received_ms") - F.expr(f"pmod(received_ms, {window_ms})")
    by_itself_ms = F.when(F.col("via").isNull(), F.col("received_ms"))
    return received.groupBy("device_id", "stream", begins.alias("window_ms")).agg(
        F.count("*").alias("messages"),
        F.max(by_itself_ms).alias("seen_ms"),
        F.max_by(F.substring("firmware", 1, _FIRMWARE_CHARS_MAX), by_itself_ms).alias("firmware"),
    )
