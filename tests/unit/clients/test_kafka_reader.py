"""The reader, against the broker that the Kafka client carries for tests: same process, no JVM."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from clients.kafka.reader import KafkaReader, KafkaUnreadableError
from fleetlane.events.envelope import Record

type Write = Callable[..., None]
type Open = Callable[..., KafkaReader]


@pytest.fixture
def producer() -> Iterator[Producer]:
    producer = Producer({"test.mock.num.brokers": 1, "log_level": 0})
    yield producer
    producer.flush(5)


@pytest.fixture
def write(producer: Producer) -> Write:
    def write_one(topic: str, value: bytes | None, **more: Any) -> None:
        producer.produce(topic, value=value, partition=0, **more)
        producer.flush(5)

    return write_one


@pytest.fixture
def open_reader(producer: Producer) -> Iterator[Open]:
    broker = next(iter(producer.list_topics(timeout=5).brokers.values()))
    opened: list[KafkaReader] = []

    def open_one(**wanted: Any) -> KafkaReader:
        reader = KafkaReader(f"{broker.host}:{broker.port}", **wanted)
        opened.append(reader)
        return reader

    yield open_one
    for reader in opened:
        reader.close()


def values_of(records: list[Record]) -> list[bytes | None]:
    return [record.value for record in records]


def test_what_is_in_a_topic_is_read_once(write: Write, open_reader: Open) -> None:
    reader = open_reader(topics=["parked"])
    write("parked", b"1")
    first = reader.read_available()
    write("parked", b"2")

    second = reader.read_available()

    assert (values_of(first), values_of(second)) == ([b"1"], [b"2"])


def test_a_record_is_read_as_it_was_written(write: Write, open_reader: Open) -> None:
    headers = [("ce_id", b"1"), ("ce_id", b"2"), ("none", None)]
    write("parked", None, key=b"k", headers=headers)

    record = open_reader(topics=["parked"]).read_available()[0]

    assert (record.key, record.value, record.headers) == (b"k", None, tuple(headers))


def test_a_topic_that_appears_later_is_read_from_its_beginning(
    write: Write, open_reader: Open
) -> None:
    reader = open_reader(pattern=r"raw\..*", is_from_end=True)
    write("raw.slow", b"before")
    reader.read_available()
    write("raw.fast", b"new topic")

    read = reader.read_available()

    assert values_of(read) == [b"new topic"]


def test_a_topic_whose_name_only_begins_like_the_pattern_is_left_out(
    write: Write, open_reader: Open
) -> None:
    write("parked.not", b"1")

    read = open_reader(pattern="parked").read_available()

    assert read == []


def test_what_is_more_than_asked_for_is_left_for_the_next_reading(
    write: Write, open_reader: Open
) -> None:
    for number in range(3):
        write("a", b"%d" % number)
        write("b", b"%d" % number)
    reader = open_reader(topics=["a", "b"])

    read = [reader.read_available(records_max=1) for _ in range(7)]

    assert sorted(record.value or b"" for part in read for record in part) == [
        b"0",
        b"0",
        b"1",
        b"1",
        b"2",
        b"2",
    ]


def test_reading_once_ends_where_the_topics_ended_then(write: Write, open_reader: Open) -> None:
    write("a", b"1")
    reading = open_reader(topics=["a"]).read_once()
    first = next(reading)
    write("a", b"2")

    rest = list(reading)

    assert (values_of([first]), rest) == ([b"1"], [])


def test_records_between_two_offsets_are_read_again_and_again(
    write: Write, open_reader: Open
) -> None:
    for value in (b"0", b"1", b"2", b"3", b"4"):
        write("raw", value)
    reader, at = open_reader(), ("raw", 0)

    read = [list(reader.read_between({at: 1}, {at: end})) for end in (4, 3, 1)]

    assert [values_of(one) for one in read] == [[b"1", b"2", b"3"], [b"1", b"2"], []]


@contextmanager
def busy_topic(write: Write) -> Iterator[None]:
    """While in the block, a record every tenth of a second, for a minute at most."""
    is_over = threading.Event()

    def go_on() -> None:
        for _ in range(600):
            write("busy", b"later")
            if is_over.wait(0.1):
                return

    others = threading.Thread(target=go_on)
    others.start()
    yield
    is_busy = others.is_alive()
    is_over.set()
    others.join()
    assert is_busy


def test_an_end_that_is_never_reached_ends_though_another_topic_goes_on(
    write: Write, open_reader: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("cut", b"1")
    write("busy", b"1")
    reader = open_reader()
    list(reader.read_between({("cut", 0): 0}, {("cut", 0): 1}))  # it is connected
    monkeypatch.setattr("clients.kafka.reader._SILENCE_S_MAX", 2)
    both = {("cut", 0): 0, ("busy", 0): 0}

    with busy_topic(write):
        reading = reader.read_between(both, {("cut", 0): 9, ("busy", 0): 1})
        read = [next(reading), next(reading)]
        with pytest.raises(KafkaUnreadableError):
            next(reading)

    assert values_of(read) == [b"1", b"1"]


def test_a_partition_that_hangs_is_read_again_though_another_topic_goes_on(
    write: Write, open_reader: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("hangs", b"1")
    write("busy", b"1")
    reader = open_reader(topics=["hangs", "busy"])
    reader.read_available()
    monkeypatch.setattr("clients.kafka.reader._SILENCE_S_MAX", 2)
    write("hangs", b"2")
    reader._consumer.incremental_unassign([TopicPartition("hangs", 0)])

    with busy_topic(write):
        read = [*reader.read_available(), *reader.read_available()]

    assert [one.value for one in read if one.topic == "hangs"] == [b"2"]


def test_a_client_that_finds_no_broker_any_more_is_replaced_and_reads_on(
    write: Write, open_reader: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clients.kafka.reader._REQUEST_TIMEOUT_S", 1)
    write("raw", b"1")
    reader = open_reader(topics=["raw"])
    reader.read_available()
    write("raw", b"2")
    reader._consumer = Consumer({"group.id": "lost", "bootstrap.servers": "127.0.0.1:1"})
    with pytest.raises(KafkaUnreadableError):
        reader.read_available()

    read = reader.read_available()

    assert values_of(read) == [b"2"]


def test_partitions_and_where_they_begin_and_end_are_looked_up(
    write: Write, open_reader: Open
) -> None:
    for value in (b"0", b"1"):
        write("raw", value)
    reader, at = open_reader(), ("raw", 0)

    found = (reader.beginnings([at]), reader.ends([at]))

    assert at in reader.all_partitions()
    assert found == ({at: 0}, {at: 2})
