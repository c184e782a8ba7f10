"""What became of a record that was handed to Kafka's client."""

import threading
from collections.abc import Callable
from typing import Final

from confluent_kafka import KafkaError, KafkaException, Message

from fleetlane.events.parked import KafkaPosition

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
    """What became of one record."""

    def __init__(self, on_confirmed: Callable[[], None]) -> None:
        self.done = threading.Event()
        self.error: KafkaError | None = None
        self.position: KafkaPosition | None = None
        self._on_confirmed = on_confirmed

    def on_delivery(self, error: KafkaError | None, message: Message) -> None:
        topic, partition, offset = message.topic(), message.partition(), message.offset()
        if error is not None:
            self.error = error
        elif topic is not None and partition is not None and offset is not None:
            self.position = KafkaPosition(topic=topic, partition=partition, offset=offset)
            self._on_confirmed()
        self.done.set()


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
