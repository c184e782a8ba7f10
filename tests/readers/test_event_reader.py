"""The reader, against the broker that the Kafka client carries for tests."""

import logging
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

import pytest
from confluent_kafka import Producer

from readers.event_reader import EventReader
from tests.brokers import broker_in_process
from tests.readers.events import an_event, record_of

TOPIC: Final = "canonical.gps"


class Broker:
    """Where events are written, and readers of it."""

    def __init__(self, producer: Producer, address: str) -> None:
        self._producer, self._address = producer, address

    def write(self, *values: bytes) -> None:
        for value in values:
            self._producer.produce(TOPIC, value, partition=0)
        self._producer.flush(5)

    def reader(self) -> EventReader:
        settings = {"session.timeout.ms": 6_000}  # this broker waits that long for who left
        return EventReader(self._address, group="test", topics=[TOPIC], settings=settings)


@pytest.fixture
def broker() -> Iterator[Broker]:
    with broker_in_process() as (producer, address):
        yield Broker(producer, address)


def ids_read(reader: EventReader, *, events_max: int = 100) -> list[str]:
    """Of the next batch that has any."""
    while True:
        with reader.batch(events_max=events_max, wait_s=0.2) as events:
            if events:
                return [one.id for one in events]


def fail_with_a_batch(reader: EventReader) -> None:
    got_any = False
    while not got_any:
        with suppress(LookupError), reader.batch(wait_s=0.2) as events:
            got_any = bool(events)
            raise LookupError


def test_events_come_as_they_were_written(broker: Broker) -> None:
    written = an_event("a", time="2026-11-28T14:00:00Z")
    broker.write(record_of(written))

    with broker.reader() as reader:
        events: list[object] = []
        while not events:
            with reader.batch(wait_s=0.2) as batch:
                events += batch

    assert events == [written]


def test_what_a_batch_was_left_with_is_not_read_again_by_the_next_reader(broker: Broker) -> None:
    broker.write(record_of(an_event("a")))
    with broker.reader() as reader:
        ids_read(reader)
    broker.write(record_of(an_event("b")))

    with broker.reader() as reader:
        read = ids_read(reader)

    assert read == ["b"]


def test_a_batch_that_failed_comes_again_to_the_same_reader(broker: Broker) -> None:
    broker.write(record_of(an_event("a")), record_of(an_event("b")))

    with broker.reader() as reader:
        fail_with_a_batch(reader)
        read = [*ids_read(reader, events_max=1), *ids_read(reader, events_max=1)]

    assert read == ["a", "b"]


def test_a_batch_that_failed_comes_again_to_the_next_reader(broker: Broker) -> None:
    broker.write(record_of(an_event("a")))
    with broker.reader() as reader:
        fail_with_a_batch(reader)

    with broker.reader() as reader:
        read = ids_read(reader)

    assert read == ["a"]


def test_what_is_no_event_is_named_and_passed_over(
    broker: Broker, caplog: pytest.LogCaptureFixture
) -> None:
    broker.write(b"{}", record_of(an_event("b")))

    with caplog.at_level(logging.ERROR), broker.reader() as reader:
        read = ids_read(reader)

    assert (read, "canonical.gps/0 at 0 is no event" in caplog.text) == (["b"], True)
