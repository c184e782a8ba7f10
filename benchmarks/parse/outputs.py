"""What a contender has written: how much, and whether it is what all have to write."""

import time
from typing import Final

from confluent_kafka import Consumer, TopicPartition
from confluent_kafka import Message as KafkaRecord

from benchmarks.parse.plain_work import PlainWork, Position
from benchmarks.parse.workload import RAW_TOPIC, message, number_of
from benchmarks.running.services import Services
from fleetlane.events.canonical import canonical_event_from
from fleetlane.events.envelope import headers_of

_CHECKED: Final = 2_000
_WAIT_S: Final = 10.0


class WrongRecordError(Exception):
    """A contender wrote a record that is not what the others write."""


def check_records(services: Services, topic: str) -> None:
    """Compare some canonical records with what the plain work gives.

    Raises:
        WrongRecordError: One differs.
    """
    work = PlainWork(loops=0)
    for record in _first_records(services, topic):
        value = record.value() or b""
        raw = message(number_of(canonical_event_from(value).rawid))
        expected = work.records_of(headers_of(raw), raw.body, Position(RAW_TOPIC, 0, 0))
        if (record.key(), value) not in [(one.key, one.value) for one in expected]:
            raise WrongRecordError(f"{value!r} with key {record.key()!r}")


def _first_records(services: Services, topic: str) -> list[KafkaRecord]:
    partition = TopicPartition(topic, 0)
    settings = {"bootstrap.servers": services.bootstrap_servers, "group.id": "check"}
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
