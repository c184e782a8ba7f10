"""What became of a record that was handed to Kafka's client."""

import threading
from collections.abc import Callable
from typing import Final

from confluent_kafka import KafkaError, KafkaException, Message

from fleetlane.events.envelope import KafkaPosition

REFUSALS: Final = frozenset(
    {
        KafkaError._UNKNOWN_TOPIC,  # noqa: SLF001 - librdkafka's own errors begin so
        KafkaError._UNKNOWN_PARTITION,  # noqa: SLF001
        KafkaError.UNKNOWN_TOPIC_OR_PART,
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.MSG_SIZE_TOO_LARGE,
    }
)
"""Kafka answers, and would take other records."""


class Delivery:
    """What became of one record.

    An event is made only for who waits while another thread serves the callbacks: alone, as Lambda
    is, nobody does.
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
        elif topic is not None and partition is not None and offset is not None:
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


def is_fatal(error: KafkaError | None) -> bool:
    """Whether idempotence is broken for good: ``produce`` then says so by the code alone."""
    return error is not None and (error.fatal() or error.code() == KafkaError._FATAL)  # noqa: SLF001
