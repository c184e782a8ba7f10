"""Kafka as the jobs' source and sink, every option written out."""

import gc
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from fleetlane.events import headers as ce
from fleetlane.events.canonical import CANONICAL_CONTENT_TYPE
from fleetlane.events.job_arguments import JobArguments
from fleetlane.events.metadata import METADATA_CONTENT_TYPE, Alert
from fleetlane.events.topics import FLEET_ALERTS, METADATA_TOPICS, REROUTED_BYTES_MAX
from glue_jobs.engine.checkpoint_notes import CheckpointPlan, HadoopFiles, note_plan
from glue_jobs.engine.session import java_class
from glue_jobs.kafka.admin import KafkaAdmin, KafkaAdminError, kafka_connection
from glue_jobs.kafka.query_runs import followed

ASYNC_CHECKPOINT_INTERVAL_MS: Final = 1_000
FETCH_BYTES_MAX: Final = 2 * 1024 * 1024
FETCH_RECORDS_MAX: Final = 2_000
"""A task waits for each fetch. With twice Kafka's own bytes, four times its records, a job that
does little else reads an eighth more in the same time, and for a tenth less CPU."""

FETCH_WAIT_MS: Final = 10
"""A batch reads what is there. But Kafka's client asks for the next records as it hands some out,
Spark then asks where the partition ends, and a broker answers that only once the wait is over:
at Kafka's own 500 ms each batch took half a second where a partition had a message a second."""

_DURABLY: Final[dict[str, Any]] = {
    "includeHeaders": "true",
    "kafka.acks": "all",
    "kafka.enable.idempotence": "true",
}

HEADERS_TYPE: Final = "array<struct<key:string,value:binary>>"
HEADERS: Final = pa.list_(pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())]))
_ALERTS: Final = pa.schema([("topic", pa.string()), ("key", pa.binary()), ("value", pa.binary())])

TRIGGER_MS_MIN: Final = 100
"""Where progress may not be written beside the batches: a crash would repeat several of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryPlan:
    """How a query runs. Its name is its checkpoint's folder and its scheduler pool.

    ``pattern`` is as in ``raw_records``.
    A ``trigger_ms`` of 0 starts a batch as soon as the one before is done, and writes progress
    beside the batches instead of between them: a crash then repeats several batches, not one.
    ``state`` names what it keeps between batches; another name is another checkpoint. With a
    ``real_time_batch_ms`` it runs in real time instead, in batches that last so long. The pattern
    of the topics that it ``writes``, and the ``tables``, are for its lineage alone.
    """

    name: str
    pattern: str
    trigger_ms: int
    state: str = ""
    real_time_batch_ms: int | None = None
    writes: str = ""
    tables: Sequence[str] = ()

    @property
    def is_async(self) -> bool:
        return self.trigger_ms == 0 and self.real_time_batch_ms is None


def raw_records(
    session: SparkSession,
    arguments: JobArguments,
    *,
    pattern: str,
    messages_per_batch_max: int | None,
    waits_ms_max: int | None = None,
    fetch_records_max: int = FETCH_RECORDS_MAX,
) -> DataFrame:
    """Read all topics whose whole name matches ``pattern``, from their beginning.

    A query in real time has no ``messages_per_batch_max``. With ``waits_ms_max`` a trigger begins a
    batch only where it would be full, or the last one began so long ago.

    Gives key binary, value binary, topic string, partition int, offset long, timestamp, headers
    array<struct<key string, value binary>>. Topics made later are picked up from their first
    record. A query fails, rather than going on silently, when records are gone that it never read.
    """
    limits: dict[str, Any] = {}
    if messages_per_batch_max is not None:
        limits["maxOffsetsPerTrigger"] = messages_per_batch_max
        limits["kafka.fetch.max.wait.ms"] = FETCH_WAIT_MS
    if waits_ms_max is not None:
        limits["minOffsetsPerTrigger"] = messages_per_batch_max
        limits["maxTriggerDelay"] = f"{waits_ms_max}ms"
    return (
        session.readStream.format("kafka")
        .options(**kafka_connection(arguments), **limits)
        .option("subscribePattern", f"^(?:{pattern})$")  # Spark looks for it anywhere in a name
        .option("startingOffsets", "earliest")
        .option("includeHeaders", "true")
        .option("failOnDataLoss", "true")
        .option("kafka.max.partition.fetch.bytes", FETCH_BYTES_MAX)
        .option("kafka.max.poll.records", fetch_records_max)
        .load()
        .select("key", "value", "topic", "partition", "offset", "timestamp", "headers")
    )


def with_content_type(records: DataFrame) -> DataFrame:
    """Give records that come without headers the one header that their topic's records have.

    Needs and gives: topic string, key binary, value binary, headers array<struct<key, value>>.
    """
    is_metadata = F.col("topic").isin(*METADATA_TOPICS)
    content_type = F.when(is_metadata, METADATA_CONTENT_TYPE).otherwise(CANONICAL_CONTENT_TYPE)
    pair = F.struct(F.lit(ce.CONTENT_TYPE).alias("key"), content_type.cast("binary").alias("value"))
    headers = F.coalesce("headers", F.array(pair)).alias("headers")
    return records.select("topic", "key", "value", headers)


def written_to_kafka(
    records: DataFrame, arguments: JobArguments, *, plan: QueryPlan
) -> StreamingQuery:
    """Start writing ``records`` to the topics that they name; returns at once.

    No record may exceed its topic's limit: one that did would end the query at every retry. Raises
    ``PlanChangedError`` where the query's checkpoint cannot take this plan.
    """
    session = records.sparkSession
    checkpoints = HadoopFiles(session, arguments.checkpoint_folder)
    note_plan(checkpoints, plan.name, noted(session, arguments, plan))
    writer = _writer(records, arguments, plan).format("kafka").options(**sink_options(arguments))
    if plan.is_async:
        writer = writer.option("asyncProgressTrackingEnabled", "true").option(
            "asyncProgressTrackingCheckpointIntervalMs", ASYNC_CHECKPOINT_INTERVAL_MS
        )
    if plan.real_time_batch_ms is None:
        return followed(writer.start(), session, arguments, plan)
    query = started_with_real_time_trigger(session, writer, plan.real_time_batch_ms)
    return followed(query, session, arguments, plan)


def started_with_real_time_trigger(
    session: SparkSession, writer: DataStreamWriter, batch_ms: int
) -> StreamingQuery:
    """Start a query; an error of py4j, or a ``TypeError``, where this Spark has no such trigger.

    By the JVM's own interface: PySpark 4.1 has no argument for it.
    """
    triggers = java_class(session, "org.apache.spark.sql.streaming.Trigger")
    java = writer._jwrite.outputMode("update")  # noqa: SLF001
    return StreamingQuery(java.trigger(triggers.RealTime(f"{batch_ms} milliseconds")).start())


def sink_options(arguments: JobArguments) -> dict[str, str]:
    """How Spark's sink writes what comes of messages."""
    return {
        **kafka_connection(arguments),
        **_DURABLY,
        "kafka.linger.ms": "5",
        "kafka.batch.size": str(256 * 1024),
        "kafka.compression.type": "lz4",
        "kafka.max.request.size": str(2 * REROUTED_BYTES_MAX),
    }


def write_alerts(session: SparkSession, arguments: JobArguments, alerts: Sequence[Alert]) -> None:
    """Write them; blocks until they are durable.

    From Arrow: rows of Python would be one task for each slot, whatever their number.
    """
    rows = [{"topic": FLEET_ALERTS, "key": one.key, "value": one.to_json()} for one in alerts]
    records = session.createDataFrame(pa.Table.from_pylist(rows, schema=_ALERTS))
    records = records.withColumn("headers", F.lit(None).cast(HEADERS_TYPE))
    writer = with_content_type(records).write.format("kafka")
    writer.options(**kafka_connection(arguments), **_DURABLY).save()


def in_batches(
    records: DataFrame,
    arguments: JobArguments,
    *,
    plan: QueryPlan,
    each: Callable[[DataFrame, int], None],
) -> StreamingQuery:
    """Start it, with a scheduler pool and a checkpoint folder of its plan's name.

    ``each`` gets a batch and its number. What it raises ends the query; the batch comes again.
    Of Kafka's partitions, which may be hundreds with a few records each, a batch has as many as
    there are cores: each step with its rows is one task for each.
    """
    session = records.sparkSession
    tasks = int(str(session.conf.get("spark.sql.shuffle.partitions")))

    def write(rows: DataFrame, number: int) -> None:
        each(rows.coalesce(tasks), number)
        gc.collect()  # py4j's objects are cycles: with them the JVM keeps plans and broadcasts

    writer = _writer(records, arguments, plan).foreachBatch(write)
    return followed(writer.start(), session, arguments, plan)


def _writer(records: DataFrame, arguments: JobArguments, plan: QueryPlan) -> DataStreamWriter:
    records.sparkSession.sparkContext.setLocalProperty("spark.scheduler.pool", plan.name)
    return (
        records.writeStream.queryName(plan.name)
        .outputMode("append")
        .option("checkpointLocation", f"{arguments.checkpoint_folder}/{plan.name}")
        .trigger(processingTime=f"{plan.trigger_ms} milliseconds")
    )


def noted(session: SparkSession, arguments: JobArguments, plan: QueryPlan) -> CheckpointPlan:
    """What is noted of it; nothing of the cluster where that does not answer."""
    cluster: str | None = None
    topics: Mapping[str, str] = {}
    with suppress(KafkaAdminError), closing(KafkaAdmin(session, arguments)) as admin:
        cluster, topics = admin.cluster_id(), admin.topic_ids(admin.matching(plan.pattern))
    return CheckpointPlan(
        spark=session.version,
        is_async=plan.is_async,
        is_real_time=plan.real_time_batch_ms is not None,
        cluster=cluster,
        topics=topics,
        state=plan.state,
    )


def fields_of(records: DataFrame, structure: Column) -> DataFrame:
    """Give the fields of a structure, computed once for each record.

    Spark moves a filter on a projection's columns below it, where each of them is computed again: a
    JSON text was parsed once for every column that must not be null. It does not move one below
    what makes rows of an array.
    """
    return records.select(F.inline(F.array(structure)))
