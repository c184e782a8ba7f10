"""The producer of confluent_kafka beneath ours: the part that is used, and its settings."""

import threading
from collections.abc import Callable, Mapping
from typing import Final, Protocol

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from fleetlane.events.envelope import KafkaPosition
from fleetlane.events.topics import PARKED, topic_settings

REFUSALS: Final = (
    KafkaError._UNKNOWN_TOPIC,  # noqa: SLF001 - librdkafka's own errors begin so
    KafkaError._UNKNOWN_PARTITION,  # noqa: SLF001
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.MSG_SIZE_TOO_LARGE,
)
"""Kafka answers, and would take other records."""


class Delivery:
    """What became of one record.

    An event is made only for who waits while another thread serves the callbacks: none on Lambda.
    """

    __slots__ = ("_on_confirmed", "_woken", "error", "is_done", "position")

    def __init__(self, on_confirmed: Callable[[], None]) -> None:
        self.is_done = False
        self.error: KafkaError | None = None
        self.position: KafkaPosition | None = None
        self._on_confirmed = on_confirmed
        self._woken: threading.Event | None = None

    def on_delivery(self, error: KafkaError | None, message: Message) -> None:
        topic, partition, offset = message.topic(), message.partition(), message.offset()
        if error is not None:
            self.error = error
        elif topic is not None and partition is not None:
            offset = -1 if offset is None else offset  # sent again, and Kafka had it already
            self.position = KafkaPosition(topic=topic, partition=partition, offset=offset)
            self._on_confirmed()
        self._is_over()

    def failed(self, error: KafkaError) -> None:
        self.error = error
        self._is_over()

    def wait(self, timeout_s: float) -> None:
        """Wait until it is done, for so long at most."""
        woken = self._woken = threading.Event()
        if not self.is_done:  # it may have been, before there was an event to set
            woken.wait(timeout_s)

    def _is_over(self) -> None:
        self.is_done = True
        if self._woken is not None:
            self._woken.set()


def kafka_error(problem: KafkaException | BufferError) -> KafkaError:
    """What ``produce`` raised: Kafka's error, or that its own queue is full."""
    if isinstance(problem, KafkaException):
        error = problem.args[0]
        assert isinstance(error, KafkaError)
        return error
    return KafkaError(KafkaError._QUEUE_FULL)  # noqa: SLF001


def ran_out_of_time(delivery: Delivery) -> bool:
    error = delivery.error
    timed_out = error is not None and error.code() == KafkaError._MSG_TIMED_OUT  # noqa: SLF001
    return delivery.position is None and (error is None or timed_out)


def is_fatal(error: KafkaError | None) -> bool:
    """Whether idempotence is broken for good: ``produce`` then says so by the code alone."""
    return error is not None and (error.fatal() or error.code() == KafkaError._FATAL)  # noqa: SLF001


type DeliveryCallback = Callable[[KafkaError | None, Message], None]
type Connect = Callable[[Mapping[str, object]], RawProducer]


class RawProducer(Protocol):
    """What is asked of it. All of it may be called by several threads."""

    def produce(
        self,
        topic: str,
        *,
        key: bytes,
        value: bytes | None,
        headers: list[tuple[str, str | bytes | None]],
        on_delivery: DeliveryCallback,
    ) -> None: ...

    def poll(self, timeout: float) -> int: ...

    def list_topics(self, topic: str, timeout: float) -> object: ...


def connected(configuration: Mapping[str, object]) -> RawProducer:
    """Make a producer; its connections are opened in the background."""
    return Producer(dict(configuration))


def producer_configuration(bootstrap_servers: str, delivery_timeout_s: float) -> dict[str, object]:
    """Give librdkafka's settings, security apart."""
    largest = topic_settings(PARKED).kafka_configuration()["max.message.bytes"]
    return {
        "bootstrap.servers": bootstrap_servers,
        "acks": "all",
        "enable.idempotence": True,
        "delivery.timeout.ms": int(delivery_timeout_s * 1000),
        "request.timeout.ms": int(delivery_timeout_s * 1000),
        # A request is one message, which nobody should wait with; a batch's gather all the same.
        "linger.ms": 0,
        "compression.type": "lz4",
        "message.max.bytes": int(largest),
        "socket.timeout.ms": 2_000,
        "socket.connection.setup.timeout.ms": 1_000,
        "socket.keepalive.enable": True,
        "reconnect.backoff.ms": 50,
        "reconnect.backoff.max.ms": 500,
        "retry.backoff.ms": 50,
        "retry.backoff.max.ms": 500,
        # A topic that is missing is said to be so after a second, not after half a minute.
        "topic.metadata.propagation.max.ms": 1_000,
        "log_level": 0,
    }
