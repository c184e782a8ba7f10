"""Looking back into Kafka: the fake and the real one give the same."""

import time
import uuid
from collections.abc import Callable, Iterator
from functools import partial
from typing import Protocol

import pytest
from confluent_kafka import Producer

from clients.kafka.reader import KafkaReader
from clients.kafka.topics import KafkaTopics
from fleetlane.events.envelope import Record
from local.servers.kafka import KafkaBroker
from operations.messages.stores import StoredRecords, records_at
from tests.unit.operations.stored_messages import FakeStore


class Store(Protocol):
    def write(self, topic: str, *, value: bytes | None, at_ms: int) -> object: ...

    def matching(self, pattern: str, *, since_ms: int | None = None) -> Iterator[Record]: ...


class KafkaStore(StoredRecords):
    """The real one, and a way to write into it."""

    def __init__(
        self, broker: KafkaBroker, on_read: Callable[[int], None] = lambda _: None
    ) -> None:
        super().__init__(partial(KafkaReader, broker.bootstrap_servers), on_read)
        self._producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "log_level": 0})
        self._topics = KafkaTopics(
            bootstrap_servers=broker.bootstrap_servers, partitions=1, replication=1
        )

    def write(self, topic: str, *, value: bytes | None, at_ms: int) -> None:
        self._topics.create_missing({topic})
        self._producer.produce(topic, value=value, timestamp=at_ms)
        assert self._producer.flush(60) == 0


@pytest.fixture(params=["fake", pytest.param("kafka", marks=pytest.mark.kafka)])
def store(request: pytest.FixtureRequest) -> Store:
    if request.param == "fake":
        return FakeStore()
    return KafkaStore(request.getfixturevalue("kafka_broker"))


@pytest.fixture
def name() -> str:
    """Begins the names of topics that no other test has."""
    return f"x{uuid.uuid4().hex[:12]}"


NOW_MS = int(time.time() * 1000)


def values(records: Iterator[Record]) -> list[bytes | None]:
    return [record.value for record in records]


def test_the_topics_that_match_as_a_whole_are_given_in_order(store: Store, name: str) -> None:
    for topic, value in ((f"{name}.a", b"1"), (f"{name}.ab", b"2"), (f"{name}.a", b"3")):
        store.write(topic, value=value, at_ms=NOW_MS)

    found = values(store.matching(rf"{name}\.a"))

    assert found == [b"1", b"3"]


def test_what_was_written_before_a_time_is_left_out(store: Store, name: str) -> None:
    for number in range(4):
        store.write(f"{name}.a", value=b"%d" % number, at_ms=NOW_MS + number)
    store.write(f"{name}.b", value=b"old", at_ms=NOW_MS)

    found = values(store.matching(rf"{name}\..", since_ms=NOW_MS + 2))

    assert found == [b"2", b"3"]


def test_topics_that_are_not_there_give_nothing(store: Store, name: str) -> None:
    assert values(store.matching(name)) == []


def test_reading_again_gives_the_same_from_the_beginning(store: Store, name: str) -> None:
    store.write(name, value=b"1", at_ms=NOW_MS)

    first, second = list(store.matching(name)), list(store.matching(name))

    assert first == second
    assert len(first) == 1


def test_records_are_found_again_by_where_they_stand(store: Store, name: str) -> None:
    for number in range(3):
        store.write(name, value=b"%d" % number, at_ms=NOW_MS)
    middle = list(store.matching(name))[1]

    found = list(records_at(store, name, {middle.position}))

    assert found == [middle]


@pytest.mark.kafka
def test_what_is_written_while_it_is_read_is_left_out(kafka_broker: KafkaBroker, name: str) -> None:
    counts: list[int] = []
    store = KafkaStore(kafka_broker, on_read=counts.append)
    store.write(name, value=b"1", at_ms=NOW_MS)
    reading = store.matching(name)
    next(reading)
    store.write(name, value=b"2", at_ms=NOW_MS)

    rest = list(reading)

    assert (rest, counts) == ([], [1])
