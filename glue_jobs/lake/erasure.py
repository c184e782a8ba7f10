"""What came from an erased device, and comes again: by a replay, from the spool, by an upload."""

from collections.abc import Mapping
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from fleetlane.events import headers as ce
from fleetlane.events.lake.tables import PARKED, LakeTable

_ERASED: Final = "device_id string, until_ms bigint"
_ARRIVED: Final = ("arrival_ms", "received_ms", "kafka_ms", "parsed_ms")
"""What says when a message arrived, or else when its record came: the first that a table has."""


def without_erased(rows: DataFrame, table: LakeTable, until_ms: Mapping[str, int]) -> DataFrame:
    """Leave out rows of messages that arrived until their device was erased for good.

    Of a device that was registered again, what arrives after that counts as any other's.
    """
    if not until_ms:
        return rows
    notes = rows.sparkSession.createDataFrame(list(until_ms.items()), _ERASED)
    is_erased = (F.col("row.device_id") == F.col("erased.device_id")) & (
        F.col("row.arrived_ms") <= F.col("erased.until_ms")
    )
    came = rows.withColumn("arrived_ms", _arrived_ms(table)).alias("row")
    return came.join(F.broadcast(notes.alias("erased")), is_erased, "left_anti").drop("arrived_ms")


def _arrived_ms(table: LakeTable) -> Column:
    if table == PARKED:
        header = F.map_from_entries("headers")[ce.ARRIVAL_MILLIS]
        return F.coalesce(header.cast("string").try_cast("bigint"), F.col("parked_ms"))
    return F.coalesce(*(name for name in _ARRIVED if name in table.column_names))
