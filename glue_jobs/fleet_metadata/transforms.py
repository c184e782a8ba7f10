"""From a raw record's headers to a row of ``fleet.received``; bodies are never looked at."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from fleetlane.events.envelope import SOURCE_PREFIX
from fleetlane.events.topics import FLEET_RECEIVED
from glue_jobs.engine.fields import fields_of


def received_rows(raw: DataFrame) -> DataFrame:
    """One row for each first attempt. Records that are no message of ours are left out.

    Needs the columns of ``raw_records``; gives those of ``fleetlane.events.metadata.Received``.
    """
    header = raw.withColumn("header", F.map_from_entries("headers"))
    first = fields_of(header, _row()).where("attempt = '1'").drop("attempt")
    return first.dropna(subset=["id", "device_id", "stream", "lane", "received_ms", "body_bytes"])


def _row() -> Column:
    """A row and its attempt, as a structure."""
    source = F.expr(f"substring({_TEXT.format('ce_source')}, {len(SOURCE_PREFIX) + 1})")
    return F.struct(
        _text("ce_id").alias("id"),
        source.alias("device_id"),
        _text("ce_devicetype").alias("device_type"),
        _text("ce_firmware").alias("firmware"),
        _text("ce_type").alias("stream"),
        _text("ce_lane").alias("lane"),
        _text("ce_via").alias("via"),
        F.col("topic").alias("source_topic"),
        F.col("partition").alias("source_partition"),
        F.col("offset").alias("source_offset"),
        _number("ce_arrivalmillis").alias("received_ms"),
        _number("ce_bodybytes").alias("body_bytes"),
        _text("ce_dataref").isNotNull().alias("by_reference"),
        _number("ce_startmillis").alias("start_ms"),
        _number("ce_endmillis").alias("end_ms"),
        _text("ce_attempt").alias("attempt"),
    )


def as_records(rows: DataFrame) -> DataFrame:
    """Rows as records of ``fleet.received``: JSON keyed by device, absent fields left out.

    Gives topic string, key binary, value binary, headers null.
    """
    return rows.select(
        F.lit(FLEET_RECEIVED).alias("topic"),
        F.col("device_id").cast("binary").alias("key"),
        F.to_json(F.struct("*")).cast("binary").alias("value"),
        F.lit(None).cast("array<struct<key:string,value:binary>>").alias("headers"),
    )


_TEXT = "cast(header['{}'] as string)"


def _text(name: str) -> Column:
    return F.expr(_TEXT.format(name))


def _number(name: str) -> Column:
    return F.expr(f"try_cast({_TEXT.format(name)} as long)")
