"""Which messages came out whole, by the ids of their canonical events."""

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Final, NamedTuple

from confluent_kafka import Consumer, TopicPartition

from benchmarks.parse.workload import EVENTS, number_of
from benchmarks.running.services import Services

_ID: Final = re.compile(rb'"id":"(1[0-9a-f]{32})-(\d+)"')
_ARRIVAL: Final = re.compile(rb'"arrivalmillis":"(\d+)"')
_RECORDS_AT_ONCE: Final = 10_000
_WAIT_S: Final = 10.0


class Event(NamedTuple):
    """``stored_ms`` is the timestamp of its record: the broker's, if its topic says so."""

    message: int
    ordinal: int
    arrival_ms: int
    stored_ms: int


def whole_messages(services: Services, topic: str) -> set[int]:
    """The numbers of the messages whose events all are in a canonical topic."""
    ordinals = defaultdict[int, int](int)
    for event in events_in(services, topic, services.begin_offsets(topic)):
        ordinals[event.message] |= 1 << event.ordinal
    return {number for number, seen in ordinals.items() if seen == (1 << EVENTS) - 1}


def events_in(services: Services, topic: str, begins: list[int]) -> Iterator[Event]:
    """Read a canonical topic, each partition from its offset on, up to what it has now."""
    settings = {"bootstrap.servers": services.bootstrap_servers, "group.id": "delivered"}
    left = sum(map(max, services.end_offsets(topic), begins)) - sum(begins)
    consumer = Consumer({**settings, "auto.offset.reset": "earliest", "log_level": 0})
    consumer.assign([TopicPartition(topic, number, at) for number, at in enumerate(begins)])
    while left > 0:
        records = consumer.consume(min(left, _RECORDS_AT_ONCE), _WAIT_S)
        if not records:
            raise TimeoutError(f"{left} records of {topic} did not come within {_WAIT_S:g} s")
        left -= len(records)
        for record in records:
            yield event_from(record.value() or b"", record.timestamp()[1])
    consumer.close()


def event_from(value: bytes, stored_ms: int) -> Event:
    """Read what is wanted of a canonical record."""
    found, arrival = _ID.search(value), _ARRIVAL.search(value)
    if found is None or arrival is None:
        raise ValueError(f"{value[:200]!r} is no canonical event")
    return Event(number_of(found[1].decode()), int(found[2]), int(arrival[1]), stored_ms)
