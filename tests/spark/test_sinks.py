"""Both sinks of a lane, Spark's and a worker's own: the same records, in the same partitions."""

import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from clients.kafka.producer import NotDurableError
from clients.kafka.reader import KafkaReader
from clients.kafka.topics import KafkaTopics
from fleetlane.events.envelope import Record
from fleetlane.events.job_arguments import JobArguments, KafkaSecurity
from fleetlane.events.topics import FLEET_PARSED, PARKED, RECORD_BYTES_MAX
from glue_jobs.kafka.source_and_sink import sink_options, with_content_type
from glue_jobs.parse_lane.real_time.progress import TaskProgress
from glue_jobs.parse_lane.real_time.worker_sink import WorkerSink
from glue_jobs.parse_lane.results.output_batches import OutputBatches, OutputRecord
from local.servers.kafka import KafkaBroker

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

CANONICAL = "canonical.sinks"
TOPICS = (CANONICAL, FLEET_PARSED, PARKED, "raw.slow")
RECORDS = [
    *(OutputRecord(CANONICAL, b"d-%d/2026-11-03T14" % number, b"{}") for number in range(200)),
    *(OutputRecord(FLEET_PARSED, "d-ü-%d".encode() % number, b"[]") for number in range(50)),
    OutputRecord(CANONICAL, b"", b""),
    OutputRecord(CANONICAL, b"\x00\xff" * 50, b"\x00" * RECORD_BYTES_MAX),
    OutputRecord(CANONICAL, None, b"of no key"),
    OutputRecord(PARKED, b"k", None, [("ce_id", b"1"), ("x", None), ("x", b""), ("ü", b"\xff")]),
    OutputRecord(PARKED, b"k", b"of no headers", []),
    OutputRecord(
        "raw.slow", b"1762178709123", b"\x00body", [("ce_id", b"2"), ("content-type", b"x")]
    ),
]

type Write = Callable[[list[OutputRecord]], None]


@pytest.fixture
def arguments(kafka_broker: KafkaBroker) -> JobArguments:
    servers = kafka_broker.bootstrap_servers
    topics = KafkaTopics(bootstrap_servers=servers, partitions=6, replication=1)
    topics.create_missing(TOPICS)
    return JobArguments(
        kafka_bootstrap_servers=servers,
        checkpoint_folder="",
        kafka_security=KafkaSecurity.PLAINTEXT,
    )


def by_spark(spark: SparkSession, arguments: JobArguments) -> Write:
    def write(outputs: list[OutputRecord]) -> None:
        records = spark.createDataFrame(pa.Table.from_batches([batch_of(outputs)]))
        with_content_type(records).write.format("kafka").options(**sink_options(arguments)).save()

    return write


@contextmanager
def served(arguments: JobArguments) -> Iterator[WorkerSink]:
    """A worker's sink, and the thread that serves it."""
    sink, is_over = WorkerSink(arguments.kafka_bootstrap_servers, KafkaSecurity.PLAINTEXT), False

    def serve() -> None:
        while not is_over:
            sink.serve(0.05)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield sink
    finally:
        is_over = True
        thread.join()


def by_worker(_spark: SparkSession, arguments: JobArguments) -> Write:
    def write(outputs: list[OutputRecord]) -> None:
        with served(arguments) as sink:
            progress = TaskProgress("run", 0)
            taken = progress.take("raw.fast", 0, range(1), lag_ms=0)
            sink.write(outputs, progress, taken)
            progress.parsed(taken)
            progress.wait_until_durable(30)
            assert progress.heartbeat().durable_offset == 1

    return write


def batch_of(records: list[OutputRecord]) -> pa.RecordBatch:
    batches = OutputBatches()
    for record in records:
        batches.add(record)
    return batches.taken()


def written(arguments: JobArguments, write: Write) -> dict[tuple[object, ...], int]:
    """How often each record was written, and to which partition."""
    counts = defaultdict[tuple[object, ...], int](int)
    reader = KafkaReader(arguments.kafka_bootstrap_servers, topics=TOPICS, is_from_end=True)
    with closing(reader):
        reader.read_available()
        write(RECORDS)
        for one in reader.read_available():
            counts[as_written(one)] += 1
    return counts


def as_written(record: Record) -> tuple[object, ...]:
    """A record without a key may be in any partition."""
    partition = None if record.key is None else record.partition
    return record.topic, partition, record.key, record.value, record.headers


def test_both_sinks_write_the_same_records_to_the_same_partitions(
    spark: SparkSession, arguments: JobArguments
) -> None:
    spark_wrote, worker_wrote = (
        written(arguments, by(spark, arguments)) for by in (by_spark, by_worker)
    )

    assert sum(spark_wrote.values()) == len(RECORDS)
    assert worker_wrote == spark_wrote
    assert len({partition for topic, partition, *_ in spark_wrote if topic == CANONICAL}) >= 6


def test_a_record_that_kafka_refuses_ends_the_task(arguments: JobArguments) -> None:
    refused = OutputRecord("canonical.of-no-topic", b"k", b"{}")
    with served(arguments) as sink:
        progress = TaskProgress("run", 0)
        taken = progress.take("raw.fast", 0, range(1), lag_ms=0)
        sink.write([refused], progress, taken)

        with pytest.raises(NotDurableError, match=r"canonical\.of-no-topic"):
            progress.wait_until_durable(30)
