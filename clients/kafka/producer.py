"""Writing records to Kafka so that they last, or saying in time that they do not."""

import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from confluent_kafka import KafkaError, KafkaException

from clients.kafka import raw_producer
from clients.kafka.producer_record import ProducerRecord
from clients.kafka.security import RememberedToken, security_configuration
from fleetlane.events.envelope import KafkaPosition
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.job_arguments import KafkaSecurity

CONNECT_S: Final = 0.5
"""A broker that cannot be reached for so long is given up."""

FIRST_CONNECT_S: Final = 2.0
"""So long where one was just opened: logins by IAM are slow, and many functions start at once."""

ANSWER_S: Final = 2.0
"""A broker that answers nothing for so long does not answer."""

SILENT_S_MAX: Final = 5.0
"""So long a producer that is connected may confirm nothing that it was given."""

UNREACHABLE_S_MAX: Final = 30.0
"""So long a producer may find no broker: some clients never find one that comes back."""

_POLL_S: Final = 0.05
_TAKE_OVER_S: Final = 0.005


class NotDurableError(FleetlaneError):
    """Kafka did not confirm a record in time; it may still arrive. Sending it again is safe."""

    topic: str
    waited_s: float
    problem: str
    sentence = "{topic} confirmed nothing within {waited_s:.1f} s: {problem}"


class RecordRefusedError(NotDurableError):
    """Kafka answers, but takes no such record: its topic is missing, or it is too large."""

    reason = "record_refused"


class KafkaProducer:
    """Lands records, one or many at a time, from any number of threads.

    Opened anew by itself when idempotence is broken for good, when it is connected and confirms
    nothing (librdkafka may wait without an end for what it had in flight), when it finds no broker
    for long, or when its token ended while the process was frozen, as Lambda's are.
    """

    def __init__(
        self,
        *,
        bootstrap_servers: str,
        security: KafkaSecurity | Mapping[str, Any] = KafkaSecurity.PLAINTEXT,
        delivery_timeout_s: float = 4.0,
        connect: raw_producer.Connect = raw_producer.connected,
        clock_s: Callable[[], float] = time.time,
    ) -> None:
        """Open a producer; nothing waits for the broker yet.

        ``security`` may be librdkafka's own settings. ``delivery_timeout_s`` is the longest that
        ``land`` and ``land_all`` block. Tokens end by ``clock_s``, in seconds since 1970.
        """
        self._delivery_timeout_s = delivery_timeout_s
        self._connect, self._clock_s = connect, clock_s
        if isinstance(security, KafkaSecurity):
            security = security_configuration(security)
        make_token = security.get("oauth_cb")
        self._token = None if make_token is None else RememberedToken(make_token)
        self._configuration = {
            **raw_producer.producer_configuration(bootstrap_servers, delivery_timeout_s),
            **security,
            **({} if self._token is None else {"oauth_cb": self._token}),
            "error_cb": self._on_error,
        }
        self._last_error: tuple[float, str] = (0.0, "")
        self._is_connected, self._give_up_s = False, math.inf
        self._connect_s = FIRST_CONNECT_S
        self._changing = threading.Lock()
        self._polling = threading.Lock()
        self._producer = self._connect(self._configuration)
        self._silent_since_s = self._unreachable_since_s = math.inf
        self.confirmed_s = -math.inf
        """When Kafka last confirmed a record, by ``time.monotonic``."""

    def connect(self, topic: str) -> bool:
        """Log in before there is a record to land; blocks for ``FIRST_CONNECT_S`` at most."""
        return self._is_connected or self._connects(self._producer, topic, math.inf)

    def land(self, record: ProducerRecord) -> KafkaPosition:
        """Write ``record``, wait until all in-sync replicas hold it, and return where it stands.

        Its offset is -1 where Kafka had it already when it was sent again.
        Raises ``NotDurableError`` where that was not confirmed in time, or its topic is missing.
        """
        (landed,) = self.land_all([record])
        if isinstance(landed, NotDurableError):
            raise landed
        return landed

    def land_all(
        self, records: Sequence[ProducerRecord], *, within_s: float = math.inf
    ) -> list[KafkaPosition | NotDurableError]:
        """Write all records, then wait for all of them together, no longer than for one.

        Gives, in the order of ``records``, where each stands or why it may not. Where no broker
        can be reached for half a second, or for two by a producer that was just opened, that is
        the end of it. ``within_s`` shortens the wait.
        """
        if not records:
            return []
        began_s = time.monotonic()
        deadline_s = began_s + min(within_s, self._delivery_timeout_s)
        self.serve()
        if self._token is not None and self._token.is_over(self._clock_s()):
            self._replace(self._producer)
        producer = self._producer
        if self._is_connected or self._connects(producer, records[0].topic, deadline_s):
            deliveries = [self._produced(producer, record) for record in records]
            for delivery in deliveries:
                self._wait(producer, delivery, deadline_s)
            if all(map(raw_producer.ran_out_of_time, deliveries)):
                self._silent_since_s = min(self._silent_since_s, began_s)
        else:
            deliveries = [raw_producer.Delivery(self._on_confirmed) for _ in records]
            self._unreachable_since_s = min(self._unreachable_since_s, began_s)
        silent_s = time.monotonic() - self._silent_since_s
        unreachable_s = time.monotonic() - self._unreachable_since_s
        is_stuck = silent_s > SILENT_S_MAX or unreachable_s > UNREACHABLE_S_MAX
        if is_stuck or any(raw_producer.is_fatal(delivery.error) for delivery in deliveries):
            self._replace(producer)
        return [
            delivery.position or self._not_durable(record, delivery, began_s)
            for record, delivery in zip(records, deliveries, strict=True)
        ]

    def answers(self, topic: str) -> bool:
        """Whether any broker answers at all, when asked about a topic. Blocks for two seconds."""
        try:
            self._producer.list_topics(topic, timeout=ANSWER_S)
        except KafkaException:
            return False
        return True

    def serve(self) -> None:
        """Take note of what came from Kafka meanwhile, such as a late confirmation."""
        self._poll(self._producer, 0)

    def _connects(self, producer: raw_producer.RawProducer, topic: str, deadline_s: float) -> bool:
        """Whether there is a connection; nothing is produced before, so nothing comes late."""
        seconds = min(self._connect_s, deadline_s - time.monotonic())
        self._connect_s = CONNECT_S
        try:
            producer.list_topics(topic, timeout=max(0.0, seconds))
        except KafkaException:
            self._poll(producer, 0)  # Kafka's own words on why
            return False
        self._on_reached()
        return True

    def _produced(
        self, producer: raw_producer.RawProducer, record: ProducerRecord
    ) -> raw_producer.Delivery:
        """Hand a record over; one that is refused at once is done."""
        delivery = raw_producer.Delivery(self._on_confirmed)
        try:
            producer.produce(
                record.topic,
                key=record.key,
                value=record.value,
                headers=list(record.headers),
                on_delivery=delivery.on_delivery,
            )
        except (KafkaException, BufferError) as problem:
            delivery.failed(raw_producer.kafka_error(problem))
        return delivery

    def _wait(
        self, producer: raw_producer.RawProducer, delivery: raw_producer.Delivery, deadline_s: float
    ) -> None:
        """Let one waiting thread serve the callbacks of all; the others wake as theirs comes."""
        while not delivery.is_done and time.monotonic() < min(deadline_s, self._give_up_s):
            if self._polling.acquire(blocking=False):
                try:
                    self._poll(producer, _POLL_S)
                finally:
                    self._polling.release()
            else:
                delivery.wait(_TAKE_OVER_S)

    def _poll(self, producer: raw_producer.RawProducer, timeout_s: float) -> None:
        """Serve its callbacks. Its poll raises, once, when idempotence is broken for good."""
        try:
            producer.poll(timeout_s)
        except KafkaException as problem:
            self._last_error = (time.monotonic(), raw_producer.kafka_error(problem).str())
            self._replace(producer)

    def _replace(self, broken: raw_producer.RawProducer) -> None:
        with self._changing:
            if self._producer is broken:
                self._producer = self._connect(self._configuration)
                self._is_connected, self._connect_s = False, FIRST_CONNECT_S
                self._silent_since_s = self._unreachable_since_s = math.inf

    def _on_error(self, error: KafkaError) -> None:
        now_s = time.monotonic()
        self._last_error = (now_s, error.str())
        if error.code() == KafkaError._ALL_BROKERS_DOWN and self._is_connected:  # noqa: SLF001
            self._is_connected, self._give_up_s = False, now_s + CONNECT_S

    def _on_confirmed(self) -> None:
        self.confirmed_s, self._silent_since_s = time.monotonic(), math.inf
        self._on_reached()

    def _on_reached(self) -> None:
        self._is_connected = True
        self._give_up_s = self._unreachable_since_s = math.inf

    def _not_durable(
        self, record: ProducerRecord, delivery: raw_producer.Delivery, began_s: float
    ) -> NotDurableError:
        """Kafka's own words; of the connection, where the record only ran out of time."""
        waited_s = time.monotonic() - began_s
        at_s, connection_problem = self._last_error
        error = delivery.error
        if error is not None and error.code() in raw_producer.REFUSALS:
            return RecordRefusedError(record.topic, waited_s, error.str())
        own_words = "no answer" if error is None else error.str()
        ran_out = raw_producer.ran_out_of_time(delivery)
        why = connection_problem if ran_out and at_s >= began_s else own_words
        return NotDurableError(record.topic, waited_s, why)
