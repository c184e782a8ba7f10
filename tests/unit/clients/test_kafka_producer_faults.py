"""What the producer does when Kafka fails in ways that a broker cannot be made to show."""

import time
from collections.abc import Mapping

import pytest
from confluent_kafka import KafkaError, KafkaException

from clients.kafka.producer import KafkaProducer, NotDurableError
from clients.kafka.producer_record import ProducerRecord
from clients.kafka.raw_producer import DeliveryCallback

RECORD = ProducerRecord(topic="raw.fast", key=b"1", value=b"x")


class Broken:
    """A producer beneath whose idempotence is broken for good, as ``produce`` tells it."""

    def produce(
        self,
        topic: str,
        *,
        key: bytes,
        value: bytes | None,
        headers: list[tuple[str, str | bytes | None]],
        on_delivery: DeliveryCallback,
    ) -> None:
        raise KafkaException(KafkaError(KafkaError._FATAL, "out of order"))

    def poll(self, timeout: float) -> int:
        return 0

    def list_topics(self, topic: str, timeout: float) -> object:
        return {topic: "is there"}


class Full(Broken):
    """A producer beneath whose queue is full."""

    def produce(
        self,
        topic: str,
        *,
        key: bytes,
        value: bytes | None,
        headers: list[tuple[str, str | bytes | None]],
        on_delivery: DeliveryCallback,
    ) -> None:
        raise BufferError("Local: Queue full")


class Connections:
    """Makes producers beneath of one kind, and counts them."""

    def __init__(self, kind: type[Broken]) -> None:
        self.kind = kind
        self.opened = 0

    def __call__(self, configuration: Mapping[str, object]) -> Broken:
        self.opened += 1
        return self.kind()


def test_broken_idempotence_opens_a_new_producer() -> None:
    connections = Connections(Broken)
    producer = KafkaProducer(bootstrap_servers="unused", connect=connections)

    with pytest.raises(NotDurableError, match="out of order"):
        producer.land(RECORD)

    assert connections.opened == 2


def test_a_full_queue_is_refused_and_keeps_the_producer() -> None:
    connections = Connections(Full)
    producer = KafkaProducer(bootstrap_servers="unused", connect=connections)

    with pytest.raises(NotDurableError, match="Queue full"):
        producer.land(RECORD)

    assert connections.opened == 1


def test_an_unreachable_broker_is_given_up_long_before_the_deadline() -> None:
    producer = KafkaProducer(bootstrap_servers="127.0.0.1:1", delivery_timeout_s=60.0)
    began_s = time.monotonic()

    with pytest.raises(NotDurableError, match=r"raw\.fast .* within .*: .*(down|refused)"):
        producer.land(RECORD)

    assert time.monotonic() - began_s < 30


class Unreachable(Broken):
    """A producer beneath that no broker answers."""

    def list_topics(self, topic: str, timeout: float) -> object:
        raise KafkaException(KafkaError(KafkaError._TRANSPORT, "all brokers are down"))


@pytest.mark.parametrize(("kind", "answers"), [(Broken, True), (Unreachable, False)])
def test_a_broker_that_answers_is_told_from_none(
    kind: type[Broken],
    answers: bool,  # noqa: FBT001 - pytest passes parameters by name
) -> None:
    producer = KafkaProducer(bootstrap_servers="unused", connect=Connections(kind))

    assert producer.answers("raw.fast") is answers
