"""What a contender has written: how much, and whether it is what all have to write."""

import time
from typing import Final

from confluent_kafka import Consumer, TopicPartition
from confluent_kafka import Message as KafkaRecord

from benchmarks.parse.jvm_copy import COPIES_TOPIC
from benchmarks.parse.plain_work import PlainWork, Position
from benchmarks.parse.stage import Stage
from benchmarks.parse.workload import PARTITIONS, RAW_TOPIC, STREAM, message, number_of
from fleetlane.events.canonical import canonical_event_from
from fleetlane.events.envelope import headers_of
from fleetlane.events.topics import FLEET_PARSED, canonical_topic

_CHECKED: Final = 2_000
_WAIT_S: Final = 10.0


class WrongRecordError(Exception):
    """A contender wrote a record that is not what the others write."""


def end_offset(stage: Stage, topic: str) -> int:
    """The number of records that were ever written to a topic."""
    partitions = (TopicPartition(topic, number) for number in range(PARTITIONS))
    bounds = (stage.watcher.get_watermark_offsets(one, timeout=_WAIT_S) for one in partitions)
    return sum(end for _, end in bounds)


def check_records(stage: Stage, topic: str) -> None:
    """Compare some canonical records with what the plain work gives.

    Raises:
        WrongRecordError: One differs.
    """
    work = PlainWork(turns=0)
    for record in _first_records(stage, topic):
        value = record.value() or b""
        raw = message(number_of(canonical_event_from(value).rawid))
        expected = work.records_of(headers_of(raw), raw.body, Position(RAW_TOPIC, 0, 0))
        if (record.key(), value) not in [(one.key, one.value) for one in expected]:
            raise WrongRecordError(f"{value!r} with key {record.key()!r}")


def _first_records(stage: Stage, topic: str) -> list[KafkaRecord]:
    partition = TopicPartition(topic, 0)
    settings = {"bootstrap.servers": stage.bootstrap_servers, "group.id": "check"}
    consumer, records = Consumer(settings), list[KafkaRecord]()
    partition.offset, _ = consumer.get_watermark_offsets(partition, timeout=_WAIT_S)
    consumer.assign([partition])
    until_s = time.monotonic() + _WAIT_S
    while len(records) < _CHECKED and time.monotonic() < until_s:
        records += (one for one in consumer.consume(_CHECKED, 1.0) if one.error() is None)
    consumer.close()
    if len(records) < _CHECKED:
        raise WrongRecordError(f"{len(records)} records in {topic}; wanted {_CHECKED}")
    return records


def records_gone(stage: Stage) -> None:
    """Delete what was written, so that the disk does not fill up."""
    for topic in (canonical_topic(STREAM), FLEET_PARSED, COPIES_TOPIC):
        ends = [TopicPartition(topic, number, -1) for number in range(PARTITIONS)]
        for future in stage.admin.delete_records(ends).values():
            future.result()
