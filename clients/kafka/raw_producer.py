"""The producer of confluent_kafka beneath ours: the part that is used, and its settings."""

from collections.abc import Callable, Mapping
from typing import Final, Protocol

from confluent_kafka import KafkaError, Message, Producer

from fleetlane.events.topics import PARKED, topic_settings

_TOPIC_APPEARS_MS: Final = 1_000

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
        "topic.metadata.propagation.max.ms": _TOPIC_APPEARS_MS,
        "log_level": 0,
    }
