"""Whether this engine runs queries in real time: found by trying, as no version number says so."""

import logging
import time
import uuid
from collections.abc import Iterable, Iterator
from contextlib import closing
from typing import Final

import orjson
import pyarrow as pa
from confluent_kafka import Producer
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from clients.kafka.producer import KafkaProducer
from clients.kafka.producer_record import ProducerRecord
from clients.kafka.raw_producer import producer_configuration
from clients.kafka.reader import KafkaReader
from clients.kafka.security import security_configuration
from fleetlane.events.job_arguments import JobArguments
from fleetlane.events.topics import FLEET_HEARTBEATS
from glue_jobs.kafka.admin import kafka_connection
from glue_jobs.kafka.source_and_sink import started_with_real_time_trigger
from glue_jobs.parse_lane.parse import ParseBatches
from glue_jobs.parse_lane.real_time.gathering import records_in
from glue_jobs.parse_lane.real_time.query import with_markers

PROBE: Final = "real_time_probe"
"""The name of its query."""

PROBE_S: Final = 60.0
"""So long a canary may take: its query starts, and the worker imports what a lane's does."""

_BATCH_MS: Final = 5_000
_POLL_S: Final = 0.5
_PARTITION: Final = 0
_CANARY, _ANSWER = b"canary", b"answer"
_log = logging.getLogger(__name__)


def coming_heartbeats(arguments: JobArguments) -> KafkaReader:
    """Read what is written to the topic of heartbeats from the first reading on."""
    return KafkaReader(
        arguments.kafka_bootstrap_servers,
        topics=[FLEET_HEARTBEATS],
        is_from_end=True,
        security=arguments.kafka_security,
    )


def runs_in_real_time(session: SparkSession, arguments: JobArguments) -> bool:
    """Send one record through a query with Spark's trigger, and wait for its answer.

    ``session`` is one for real time. Blocks for a minute at most. What is missing is logged.
    """
    try:
        query = _started(session, arguments)
        try:
            is_answered = _is_answered(arguments, query)
        finally:
            query.stop()
    except Exception as problem:  # noqa: BLE001 - whatever it is that this engine has not
        _log.warning("no real time, so messages are parsed in micro-batches: %s", problem)
        return False
    if not is_answered:
        _log.warning("no real time, so messages are parsed in micro-batches: no canary came back")
    return is_answered


def _started(session: SparkSession, arguments: JobArguments) -> StreamingQuery:
    """Of one partition, from its end: what a probe before this one sent stays where it is."""
    records: DataFrame = (
        session.readStream.format("kafka")
        .options(**kafka_connection(arguments))
        .option("assign", orjson.dumps({FLEET_HEARTBEATS: [_PARTITION]}).decode())
        .option("startingOffsets", "latest")
        .load()
        .select("topic", "key", "value")
    )
    answers = with_markers(records).mapInArrow(_answering(arguments), "value binary")
    writer = answers.writeStream.queryName(PROBE).format("noop")
    return started_with_real_time_trigger(session, writer, _BATCH_MS)


def _answering(arguments: JobArguments) -> ParseBatches:
    def answered(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        producer = KafkaProducer(
            bootstrap_servers=arguments.kafka_bootstrap_servers, security=arguments.kafka_security
        )
        for batch in batches:
            for [record] in map(pa.Array.to_pylist, records_in(batch)):
                if record["key"] == _CANARY:
                    answer = ProducerRecord(
                        topic=FLEET_HEARTBEATS, key=_ANSWER, value=record["value"]
                    )
                    producer.land(answer)
        yield pa.RecordBatch.from_arrays([pa.array([], pa.binary())], ["value"])

    return answered


def _is_answered(arguments: JobArguments, query: StreamingQuery) -> bool:
    """Send canaries until one comes back; the first ones may be older than the query's begin."""
    own, until_s = uuid.uuid4().bytes, time.monotonic() + PROBE_S
    servers, security = arguments.kafka_bootstrap_servers, arguments.kafka_security
    producer = Producer(
        {**producer_configuration(servers, PROBE_S), **security_configuration(security)}
    )
    with closing(coming_heartbeats(arguments)) as reader:
        while time.monotonic() < until_s and query.isActive:
            reader.read_available()
            producer.produce(FLEET_HEARTBEATS, key=_CANARY, value=own, partition=_PARTITION)
            producer.poll(_POLL_S)
            if any(one.key == _ANSWER and one.value == own for one in reader.read_available()):
                return True
    problem = query.exception()
    if problem is not None:
        raise problem
    return False
