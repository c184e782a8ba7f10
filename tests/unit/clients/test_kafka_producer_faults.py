"""What the producer does when Kafka fails in ways that a broker cannot be made to show."""

import time
from collections.abc import Mapping
from typing import ClassVar

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer

from clients.kafka.producer import CONNECT_S, FIRST_CONNECT_S, KafkaProducer, NotDurableError
from clients.kafka.producer_record import ProducerRecord
from clients.kafka.raw_producer import DeliveryCallback
from clients.kafka_or_spool import PRODUCE_S
from tests.contract.broken_idempotence import answer_as_known

RECORD = ProducerRecord(topic="raw.fast", key=b"1", value=b"x")


class Broken:
    """A producer beneath whose idempotence is broken for good, as ``produce`` tells it."""

    refusal: ClassVar[Exception | None] = KafkaException(
        KafkaError(KafkaError._FATAL, "out of order")
    )

    def produce(
        self,
        topic: str,
        *,
        key: bytes,
        value: bytes | None,
        headers: list[tuple[str, str | bytes | None]],
        on_delivery: DeliveryCallback,
    ) -> None:
        if self.refusal is not None:
            raise self.refusal

    def poll(self, timeout: float) -> int:
        return 0

    def list_topics(self, topic: str, timeout: float) -> object:
        return {topic: "is there"}


class Full(Broken):
    """A producer beneath whose queue is full."""

    refusal = BufferError("Local: Queue full")


class Stuck(Broken):
    """A producer beneath that is connected, takes records, and confirms none."""

    refusal = None


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


@pytest.mark.parametrize(("silent_s_max", "opened"), [(0.25, 2), (60, 1)])
def test_a_producer_that_is_connected_and_confirms_nothing_is_opened_anew(
    monkeypatch: pytest.MonkeyPatch, silent_s_max: float, opened: int
) -> None:
    monkeypatch.setattr("clients.kafka.producer.SILENT_S_MAX", silent_s_max)
    connections = Connections(Stuck)
    producer = KafkaProducer(
        bootstrap_servers="unused", connect=connections, delivery_timeout_s=0.1
    )

    for _ in range(4):
        with pytest.raises(NotDurableError, match="no answer"):
            producer.land(RECORD)

    assert connections.opened == opened


@pytest.mark.parametrize(("unreachable_s_max", "opened"), [(0.05, 2), (60, 1)])
def test_a_producer_that_finds_no_broker_for_long_is_opened_anew(
    monkeypatch: pytest.MonkeyPatch, unreachable_s_max: float, opened: int
) -> None:
    monkeypatch.setattr("clients.kafka.producer.UNREACHABLE_S_MAX", unreachable_s_max)
    connections = Connections(Unreachable)
    producer = KafkaProducer(bootstrap_servers="unused", connect=connections)

    for _ in range(2):
        with pytest.raises(NotDurableError, match="no answer"):
            producer.land(RECORD)
        time.sleep(0.06)

    assert connections.opened == opened


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


class SlowLogin(Full):
    """A producer beneath whose first answer takes a second, as a login by IAM may."""

    def list_topics(self, topic: str, timeout: float) -> object:
        if timeout < 1:
            raise KafkaException(KafkaError(KafkaError._TRANSPORT, "not logged in yet"))
        return {topic: "is there"}


def test_a_producer_that_was_just_opened_has_time_to_log_in() -> None:
    producer = KafkaProducer(
        bootstrap_servers="unused", connect=Connections(SlowLogin), delivery_timeout_s=PRODUCE_S
    )

    with pytest.raises(NotDurableError, match="Queue full"):  # which it learns after its login
        producer.land(RECORD)


def test_one_that_connected_before_the_first_record_need_not_wait_for_it() -> None:
    producer = KafkaProducer(
        bootstrap_servers="unused", connect=Connections(SlowLogin), delivery_timeout_s=0.1
    )

    assert producer.connect(RECORD.topic)

    with pytest.raises(NotDurableError, match="Queue full"):
        producer.land(RECORD)


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


class Impatient(Broken):
    """A producer beneath that no broker answers, and that notes for how long it was asked."""

    waited_s: ClassVar[list[float]] = []

    def list_topics(self, topic: str, timeout: float) -> object:
        self.waited_s.append(timeout)
        raise KafkaException(KafkaError(KafkaError._TRANSPORT, "all brokers are down"))


def test_only_the_first_connection_is_waited_for_so_long() -> None:
    producer = KafkaProducer(bootstrap_servers="unused", connect=Connections(Impatient))

    for _ in range(3):
        assert not producer.connect(RECORD.topic)

    assert Impatient.waited_s == [FIRST_CONNECT_S, CONNECT_S, CONNECT_S]


def test_a_record_that_was_sent_again_and_kafka_had_already_is_durable() -> None:
    opened = list[Producer]()

    def connect(configuration: Mapping[str, object]) -> Producer:
        opened.append(Producer({**configuration, "test.mock.num.brokers": 1}))
        return opened[-1]

    producer = KafkaProducer(bootstrap_servers="unused", connect=connect)
    answer_as_known(opened[0])

    position = producer.land(RECORD)

    assert (position.topic, position.offset) == (RECORD.topic, -1)
