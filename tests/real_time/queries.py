"""Queries in Spark's real-time mode, and the topics that they read."""

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import orjson
from confluent_kafka import Consumer, Producer, TopicPartition
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from clients.kafka.topics import KafkaTopics
from glue_jobs.engine.session import java_class
from glue_jobs.parse_lane.real_time.query import SETTINGS

SLOTS: Final = 8

TRIGGERS: Final = "org.apache.spark.sql.streaming.Trigger"
ALLOWLIST: Final = "spark.sql.streaming.realTimeMode.allowlistCheck"
BUFFER_BYTES: Final = "spark.sql.execution.pandas.udf.buffer.size"
ROWS_AT_ONCE: Final = "spark.sql.execution.arrow.maxRecordsPerBatch"
EXPRESSIONS: Final = "spark.sql.codegen.factoryMode"
CODEGEN: Final = "spark.sql.codegen.wholeStage"
BATCH_MS_MIN: Final = "spark.sql.streaming.realTimeMode.minBatchDuration"
REAL_TIME: Final[Mapping[str, str]] = {**SETTINGS, BATCH_MS_MIN: "1000"}
"""The lane's own settings, and shorter batches."""

_ANSWER_S: Final = 30.0
_WAIT_S: Final = 180.0
_ASK_AGAIN_S: Final = 0.05


class Kafka:
    """The topics of these tests."""

    def __init__(self, bootstrap_servers: str) -> None:
        self.servers = bootstrap_servers
        self._settings: Any = {"bootstrap.servers": bootstrap_servers, "log_level": 0}
        self._producer = Producer(self._settings)
        self._consumer = Consumer({**self._settings, "group.id": "tests"})

    def create(self, *topics: str, partitions: int = 1) -> None:
        admin = KafkaTopics(bootstrap_servers=self.servers, partitions=partitions, replication=1)
        admin.create_missing(topics)

    def send(self, topic: str, value: bytes, *, partition: int = 0) -> None:
        self._producer.produce(topic, value, partition=partition)
        assert not self._producer.flush(_ANSWER_S)

    def end(self, topic: str) -> int:
        """The offset of the next record of its first partition."""
        _, end = self._consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=_ANSWER_S)
        return end

    def first_s(self, topic: str) -> float:
        """When the first record of its first partition was written, in seconds since 1970."""
        self._consumer.assign([TopicPartition(topic, 0, 0)])
        record = self._consumer.poll(_ANSWER_S)
        assert record is not None, f"{topic} is empty"
        return record.timestamp()[1] / 1000

    def close(self) -> None:
        self._consumer.close()


def read(
    spark: SparkSession, kafka: Kafka, topics: str, options: Mapping[str, Any] | None = None
) -> DataFrame:
    """The values of topics whose whole names match."""
    reader = spark.readStream.format("kafka").option("kafka.bootstrap.servers", kafka.servers)
    reader = reader.option("subscribePattern", f"^(?:{topics})$").option(
        "startingOffsets", "earliest"
    )
    return reader.options(**options or {}).load().select("value")


def own_session(spark: SparkSession, settings: Mapping[str, str]) -> SparkSession:
    """Another session of the same application, with settings that the others have not."""
    session = spark.newSession()
    for name, value in settings.items():
        session.conf.set(name, value)
    return session


def started(
    records: DataFrame,
    kafka: Kafka,
    checkpoint: Path,
    *,
    batch_s: int = 2,
    output_mode: str = "update",
    sink: Mapping[str, str] = MappingProxyType({"topic": "out"}),
) -> StreamingQuery:
    """Start writing ``records`` to a topic, in real-time mode."""
    writer = records.writeStream.format("kafka").option("kafka.bootstrap.servers", kafka.servers)
    writer = writer.options(**sink).option("checkpointLocation", checkpoint.as_uri())
    triggers = java_class(records.sparkSession, TRIGGERS)
    in_java = writer._jwrite.outputMode(output_mode)  # PySpark has no argument for the trigger
    return StreamingQuery(in_java.trigger(triggers.RealTime(f"{batch_s} seconds")).start())


def in_micro_batches(
    records: DataFrame, kafka: Kafka, checkpoint: Path, *, sink: Mapping[str, str]
) -> StreamingQuery:
    """Start writing ``records`` to a topic, in micro-batches, each with its progress."""
    writer = records.writeStream.format("kafka").option("kafka.bootstrap.servers", kafka.servers)
    writer = writer.options(**sink).option("checkpointLocation", checkpoint.as_uri())
    return writer.trigger(processingTime="0 seconds").start()


def wait_until(holds: Callable[[], object]) -> None:
    """Wait until something holds.

    Raises:
        TimeoutError: It does not within three minutes.
    """
    until_s = time.monotonic() + _WAIT_S
    while not holds():
        if time.monotonic() > until_s:
            raise TimeoutError("it does not hold after three minutes")
        time.sleep(_ASK_AGAIN_S)


def ends(query: StreamingQuery, topic: str) -> list[Mapping[str, int]]:
    """Where each batch of a query ended in a topic, by partition."""
    batches = (orjson.loads(batch.json) for batch in query.recentProgress)
    sources = (batch["sources"][0] for batch in batches)
    return [(source["endOffset"] or {}).get(topic, {}) for source in sources]
