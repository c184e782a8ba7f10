"""Job ``fleet_metadata``: all raw lanes to ``fleet.received``, in the JVM alone."""

from functools import partial
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from fleetlane.events import headers as ce
from fleetlane.events.envelope import SOURCE_PREFIX
from fleetlane.events.job_arguments import FleetMetadataArguments
from fleetlane.events.lanes import Lane
from fleetlane.events.names import DEVICE_ID_PATTERN
from fleetlane.events.topic_patterns import raw_pattern
from fleetlane.events.topics import FLEET_RECEIVED
from glue_jobs.engine.supervisor import Supervisor, always_running
from glue_jobs.kafka import source_and_sink

_QUERY: Final = "fleet_metadata"
_PATTERN: Final = raw_pattern(*Lane)
_TEXT = "cast(header['{}'] as string)"


def received_rows(raw: DataFrame) -> DataFrame:
    """One row for each first attempt. Records that are no message of ours are left out.

    Needs the columns of ``raw_records``; gives those of ``fleetlane.events.metadata.Received``.
    """
    header = raw.withColumn("header", F.map_from_entries("headers"))
    first = source_and_sink.fields_of(header, _row()).where("attempt = '1'").drop("attempt")
    first = first.where(F.col("device_id").rlike(rf"^{DEVICE_ID_PATTERN}\z"))
    return first.dropna(subset=["id", "device_id", "stream", "lane", "received_ms", "body_bytes"])


def _row() -> Column:
    """A row and its attempt, as a structure."""
    source = F.expr(f"substring({_TEXT.format(ce.SOURCE)}, {len(SOURCE_PREFIX) + 1})")
    return F.struct(
        _text(ce.ID).alias("id"),
        source.alias("device_id"),
        _text(ce.DEVICE_TYPE).alias("device_type"),
        _text(ce.FIRMWARE).alias("firmware"),
        _text(ce.TYPE).alias("stream"),
        _text(ce.LANE).alias("lane"),
        _text(ce.VIA).alias("via"),
        F.col("topic").alias("source_topic"),
        F.col("partition").alias("source_partition"),
        F.col("offset").alias("source_offset"),
        _number(ce.ARRIVAL_MILLIS).alias("received_ms"),
        _number(ce.BODY_BYTES).alias("body_bytes"),
        _text(ce.DATA_REF).isNotNull().alias("by_reference"),
        _number(ce.START_MILLIS).alias("start_ms"),
        _number(ce.END_MILLIS).alias("end_ms"),
        F.unix_millis("timestamp").alias("landed_ms"),
        _text(ce.ATTEMPT).alias("attempt"),
    )


def as_records(rows: DataFrame) -> DataFrame:
    """Rows as records of ``fleet.received``: JSON keyed by device, absent fields left out.

    Gives topic string, key binary, value binary, headers null.
    """
    return rows.select(
        F.lit(FLEET_RECEIVED).alias("topic"),
        F.col("device_id").cast("binary").alias("key"),
        F.to_json(F.struct("*")).cast("binary").alias("value"),
        F.lit(None).cast(source_and_sink.HEADERS_TYPE).alias("headers"),
    )


def _text(name: str) -> Column:
    return F.expr(_TEXT.format(name))


def _number(name: str) -> Column:
    return F.expr(f"try_cast({_TEXT.format(name)} as long)")


def start(session: SparkSession, arguments: FleetMetadataArguments) -> Supervisor:
    """Start the job's one query, and give what starts it again when it ends; returns at once."""
    trigger_ms = arguments.metadata_trigger_ms
    plan = source_and_sink.QueryPlan(
        name=_QUERY, pattern=_PATTERN, trigger_ms=trigger_ms, writes=FLEET_RECEIVED
    )
    records = partial(metadata_records, session, arguments)
    return always_running(
        {_QUERY: lambda: source_and_sink.written_to_kafka(records(), arguments, plan=plan)}
    )


def metadata_records(session: SparkSession, arguments: FleetMetadataArguments) -> DataFrame:
    """What the query writes: a record of ``fleet.received`` for each first attempt."""
    raw = source_and_sink.raw_records(
        session,
        arguments,
        pattern=_PATTERN,
        messages_per_batch_max=arguments.metadata_messages_per_batch_max,
    )
    return source_and_sink.with_content_type(as_records(received_rows(raw)))
