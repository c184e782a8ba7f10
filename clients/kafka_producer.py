"""Writing records to Kafka so that they last, or saying in time that they do not."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Protocol

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from clients.kafka_security import security_configuration
from clients.producer_record import ProducerRecord
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.job_arguments import KafkaSecurity
from fleetlane.events.parked import KafkaPosition
from fleetlane.events.topics import PARKED, topic_settings

_POLL_S: Final = 0.05
_TAKE_OVER_S: Final = 0.005
_TOPIC_APPEARS_MS: Final = 1_000

type DeliveryCallback = Callable[[KafkaError | None, Message], None]


class NotDurableError(FleetlaneError):
    """Kafka did not confirm a record in time; it may still arrive. Sending it again is safe."""

    reason = "not_durable"

    def __init__(self, topic: str, waited_s: float, problem: str) -> None:
        super().__init__(topic, waited_s, problem)
        self.topic, self.waited_s, self.problem = topic, waited_s, problem

    def __str__(self) -> str:
        return f"{self.topic} confirmed nothing within {self.waited_s:.1f} s: {self.problem}"


class RawProducer(Protocol):
    """The part of confluent_kafka's producer that is used here."""

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


class KafkaProducer:
    """Lands records, one or many at a time, from any number of threads.

    Opened anew by itself when idempotence is broken for good.
    """

    def __init__(
        self,
        *,
        bootstrap_servers: str,
        security: KafkaSecurity = KafkaSecurity.PLAINTEXT,
        delivery_timeout_s: float = 4.0,
        connect: Callable[[Mapping[str, object]], RawProducer] | None = None,
    ) -> None:
        """Open a producer; nothing waits for the broker yet.

        Args:
            bootstrap_servers: ``host:port``, several separated by commas.
            security: How to reach them.
            delivery_timeout_s: The longest that ``land`` and ``land_all`` block.
            connect: Makes the producer beneath from librdkafka's configuration.
        """
        self._delivery_timeout_s = delivery_timeout_s
        self._connect: Callable[[Mapping[str, object]], RawProducer] = connect or _connected
        self._configuration = {
            **_configuration(bootstrap_servers, delivery_timeout_s),
            **security_configuration(security),
            "error_cb": self._on_error,
        }
        self._last_error: tuple[float, str] = (0.0, "")
        self._changing = threading.Lock()
        self._polling = threading.Lock()
        self._producer = self._connect(self._configuration)

    def land(self, record: ProducerRecord) -> KafkaPosition:
        """Write ``record`` and wait until all in-sync replicas hold it; return where it stands.

        Raises:
            NotDurableError: That was not confirmed in time, or the topic does not exist.
        """
        (landed,) = self.land_all([record])
        if isinstance(landed, NotDurableError):
            raise landed
        return landed

    def land_all(self, records: Sequence[ProducerRecord]) -> list[KafkaPosition | NotDurableError]:
        """Write all records, then wait for all of them together, no longer than for one.

        Gives, in the order of ``records``, where each stands or why it may not.
        """
        began_s = time.monotonic()
        producer = self._producer
        deliveries = [_produced(producer, record) for record in records]
        for delivery in deliveries:
            self._wait(producer, delivery, began_s + self._delivery_timeout_s)
        if any(delivery.error is not None and delivery.error.fatal() for delivery in deliveries):
            self._replace(producer)
        return [
            delivery.position or self._not_durable(record, delivery, began_s)
            for record, delivery in zip(records, deliveries, strict=True)
        ]

    def _wait(self, producer: RawProducer, delivery: "_Delivery", deadline_s: float) -> None:
        """Let one waiting thread serve the callbacks of all; the others wake as theirs comes."""
        while not delivery.done.is_set() and time.monotonic() < deadline_s:
            if self._polling.acquire(blocking=False):
                try:
                    producer.poll(_POLL_S)
                finally:
                    self._polling.release()
            else:
                delivery.done.wait(_TAKE_OVER_S)

    def _not_durable(
        self, record: ProducerRecord, delivery: "_Delivery", began_s: float
    ) -> NotDurableError:
        waited_s = time.monotonic() - began_s
        return NotDurableError(record.topic, waited_s, self._problem(delivery, began_s))

    def _replace(self, broken: RawProducer) -> None:
        with self._changing:
            if self._producer is broken:
                self._producer = self._connect(self._configuration)

    def _on_error(self, error: KafkaError) -> None:
        self._last_error = (time.monotonic(), error.str())

    def _problem(self, delivery: "_Delivery", began_s: float) -> str:
        """Kafka's own words; of the connection, where the record only ran out of time."""
        at_s, connection_problem = self._last_error
        error = delivery.error
        ran_out = error is None or error.code() == KafkaError._MSG_TIMED_OUT  # noqa: SLF001
        if ran_out and at_s >= began_s:
            return connection_problem
        return "no answer" if error is None else error.str()


class _Delivery:
    """What became of one record."""

    def __init__(self) -> None:
        self.done = threading.Event()
        self.error: KafkaError | None = None
        self.position: KafkaPosition | None = None

    def on_delivery(self, error: KafkaError | None, message: Message) -> None:
        topic, partition, offset = message.topic(), message.partition(), message.offset()
        if error is not None:
            self.error = error
        elif topic is not None and partition is not None and offset is not None:
            self.position = KafkaPosition(topic=topic, partition=partition, offset=offset)
        self.done.set()


def _produced(producer: RawProducer, record: ProducerRecord) -> _Delivery:
    """Hand a record over; one that is refused at once is done."""
    delivery = _Delivery()
    try:
        producer.produce(
            record.topic,
            key=record.key,
            value=record.value,
            headers=list(record.headers),
            on_delivery=delivery.on_delivery,
        )
    except (KafkaException, BufferError) as problem:
        delivery.error = _kafka_error(problem)
        delivery.done.set()
    return delivery


def _kafka_error(problem: KafkaException | BufferError) -> KafkaError:
    """What ``produce`` raised: Kafka's error, or that its own queue is full."""
    if isinstance(problem, KafkaException):
        error = problem.args[0]
        assert isinstance(error, KafkaError)
        return error
    return KafkaError(KafkaError._QUEUE_FULL)  # noqa: SLF001


def _connected(configuration: Mapping[str, object]) -> Producer:
    return Producer(dict(configuration))


def _configuration(bootstrap_servers: str, delivery_timeout_s: float) -> dict[str, object]:
    largest = topic_settings(PARKED).kafka_configuration()["max.message.bytes"]
    return {
        "bootstrap.servers": bootstrap_servers,
        "acks": "all",
        "enable.idempotence": True,
        "delivery.timeout.ms": int(delivery_timeout_s * 1000),
        "request.timeout.ms": int(delivery_timeout_s * 1000),
        "linger.ms": 2,
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
