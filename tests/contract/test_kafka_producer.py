"""Landing records in Kafka: the fake and a real broker keep the same promises."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from threading import Thread
from typing import Protocol

import pytest
from confluent_kafka import Consumer, TopicPartition

from clients.kafka.producer import KafkaProducer, NotDurableError, RecordRefusedError
from clients.kafka.producer_record import ProducerRecord
from clients.kafka.raw_producer import RawProducer, connected
from clients.kafka.topics import KafkaTopics
from fleetlane.events.envelope import Header, KafkaPosition
from local.servers.kafka import KafkaBroker
from tests.contract.broken_idempotence import break_idempotence
from tests.unit.lambdas.fakes import FakeKafka

TOPIC = "raw.standard.stream.producer-contract"


class Lander(Protocol):
    def land(self, record: ProducerRecord) -> KafkaPosition: ...

    def land_all(
        self, records: Sequence[ProducerRecord]
    ) -> list[KafkaPosition | NotDurableError]: ...

    def answers(self, topic: str) -> bool: ...


@dataclass(frozen=True)
class Kafka:
    """A way to land, and a way to read what is at a position."""

    producer: Lander
    read: Callable[[KafkaPosition], ProducerRecord]


@pytest.fixture(params=["fake", pytest.param("real", marks=pytest.mark.kafka)])
def kafka(request: pytest.FixtureRequest) -> Iterator[Kafka]:
    if request.param == "fake":
        fake = FakeKafka([TOPIC])
        yield Kafka(fake, lambda position: fake.topics[position.topic][position.offset])
    else:
        broker: KafkaBroker = request.getfixturevalue("kafka_broker")
        servers = broker.bootstrap_servers
        KafkaTopics(bootstrap_servers=servers, partitions=1, replication=1).create_missing([TOPIC])
        yield Kafka(
            KafkaProducer(bootstrap_servers=servers), lambda position: _read(servers, position)
        )


def test_a_landed_record_stands_where_the_answer_says(kafka: Kafka) -> None:
    record = _record(b"hello", headers=[("ce_id", b"1"), ("twice", b"\x00\xff"), ("twice", None)])

    position = kafka.producer.land(record)

    assert kafka.read(position) == record


@pytest.mark.parametrize("value", [b"", None])
def test_an_empty_value_and_a_null_are_distinguished(kafka: Kafka, value: bytes | None) -> None:
    position = kafka.producer.land(_record(value))

    assert kafka.read(position).value == value


def test_records_of_one_thread_are_in_order(kafka: Kafka) -> None:
    offsets = [kafka.producer.land(_record(b"%d" % n)).offset for n in range(20)]

    assert offsets == sorted(set(offsets))


def test_many_records_land_together_and_are_answered_in_their_order(kafka: Kafka) -> None:
    records = [_record(b"%d" % n) for n in range(500)]

    landed = kafka.producer.land_all(records)

    positions = [one for one in landed if not isinstance(one, NotDurableError)]
    assert [kafka.read(one) for one in positions[::100]] == records[::100]
    assert len(positions) == 500


def test_one_of_many_without_a_topic_keeps_none_of_the_others_back(kafka: Kafka) -> None:
    missing = ProducerRecord(topic="raw.fast.stream.nowhere", key=b"1", value=b"x")

    before, refused, after = kafka.producer.land_all([_record(b"a"), missing, _record(b"b")])

    assert [type(one) for one in (before, refused, after)] == [
        KafkaPosition,
        RecordRefusedError,
        KafkaPosition,
    ]


def test_no_records_are_landed_at_once(kafka: Kafka) -> None:
    assert kafka.producer.land_all([]) == []


def test_a_missing_topic_is_named_within_seconds(kafka: Kafka) -> None:
    missing = ProducerRecord(topic="raw.fast.stream.nowhere", key=b"1", value=b"x")
    began_s = time.monotonic()

    with pytest.raises(RecordRefusedError, match=r"raw\.fast\.stream\.nowhere.*[Uu]nknown topic"):
        kafka.producer.land(missing)

    assert time.monotonic() - began_s < 5


@pytest.mark.parametrize("topic", [TOPIC, "raw.standard.stream.nobody-made-this"])
def test_a_kafka_that_is_there_answers_whatever_topic_it_is_asked_about(
    kafka: Kafka, topic: str
) -> None:
    assert kafka.producer.answers(topic)


def test_many_threads_each_get_their_own_position(kafka: Kafka) -> None:
    found: list[bool] = []

    def land_ten(name: int) -> None:
        for n in range(10):
            record = _record(b"%d of %d" % (n, name))
            position = kafka.producer.land(record)
            found.append(n > 0 or kafka.read(position) == record)

    threads = [Thread(target=land_ten, args=(name,)) for name in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert found == [True] * 80


@pytest.mark.kafka
def test_a_record_over_the_limit_is_refused(kafka_broker: KafkaBroker) -> None:
    producer = KafkaProducer(bootstrap_servers=kafka_broker.bootstrap_servers)

    with pytest.raises(RecordRefusedError, match="Message size too large"):
        producer.land(_record(bytes(1_200_000)))


@pytest.mark.kafka
def test_a_topic_created_later_is_found_by_a_producer_that_missed_it(
    kafka_broker: KafkaBroker,
) -> None:
    servers, topic = kafka_broker.bootstrap_servers, "raw.standard.stream.created-later"
    producer = KafkaProducer(bootstrap_servers=servers)
    record = ProducerRecord(topic=topic, key=b"1", value=b"x")
    with pytest.raises(NotDurableError):
        producer.land(record)

    KafkaTopics(bootstrap_servers=servers, partitions=1, replication=1).create_missing([topic])

    assert _landed_within(producer, record, seconds=10)


@pytest.mark.kafka
def test_a_producer_whose_idempotence_broke_while_nobody_waited_lands_again(
    kafka_broker: KafkaBroker,
) -> None:
    servers, topic = kafka_broker.bootstrap_servers, "raw.standard.stream.broken-idempotence"
    KafkaTopics(bootstrap_servers=servers, partitions=1, replication=1).create_missing([topic])
    opened = list[RawProducer]()

    def connect(configuration: Mapping[str, object]) -> RawProducer:
        opened.append(connected(configuration))
        return opened[-1]

    producer = KafkaProducer(bootstrap_servers=servers, connect=connect)
    record = ProducerRecord(topic=topic, key=b"1", value=b"x")
    first = producer.land(record)

    break_idempotence(opened[0])

    assert _landed_within(producer, record, seconds=10)
    assert (first.offset, len(opened)) == (0, 2)


def _record(value: bytes | None, headers: list[Header] | None = None) -> ProducerRecord:
    return ProducerRecord(topic=TOPIC, key=b"1700000000000", value=value, headers=headers or [])


def _landed_within(producer: KafkaProducer, record: ProducerRecord, *, seconds: float) -> bool:
    deadline_s = time.monotonic() + seconds
    while time.monotonic() < deadline_s:
        try:
            producer.land(record)
        except NotDurableError:
            time.sleep(0.05)  # Kafka's client asks for missing topics once a second
        else:
            return True
    return False


def _read(bootstrap_servers: str, position: KafkaPosition) -> ProducerRecord:
    consumer = Consumer(
        {"bootstrap.servers": bootstrap_servers, "group.id": "contract", "log_level": 0}
    )
    try:
        consumer.assign([TopicPartition(position.topic, position.partition, position.offset)])
        message = consumer.poll(10)
        assert message is not None
        assert message.error() is None
        headers = message.headers() or []
        assert isinstance(headers, list)
        return ProducerRecord(
            topic=position.topic,
            key=message.key() or b"",
            value=message.value(),
            headers=[(name, value) for name, value in headers if not isinstance(value, str)],
        )
    finally:
        consumer.close()
