"""Making records durable in any case: in Kafka, or in the spool while Kafka does not confirm."""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from clients.circuit_breaker import CircuitBreaker, Turn
from clients.kafka.producer import NotDurableError, RecordRefusedError
from clients.kafka.producer_record import ProducerRecord
from clients.s3.spool import Spooled, SpoolUnavailableError
from fleetlane.events.envelope import KafkaPosition

PRODUCE_S: Final = 1.25
"""The longest wait for Kafka."""

SPOOL_S: Final = 2.0
"""The longest that the spool takes, with a first try that failed at once."""

_PROBE_S: Final = 0.5


class Producer(Protocol):
    """Kafka; ``clients.kafka.producer.KafkaProducer`` is one."""

    @property
    def confirmed_s(self) -> float: ...

    def land_all(
        self, records: Sequence[ProducerRecord], *, within_s: float = ...
    ) -> list[KafkaPosition | NotDurableError]: ...

    def serve(self) -> None: ...


class RecordSpool(Protocol):
    """The spool; raises ``SpoolUnavailableError``."""

    def put(self, records: Sequence[ProducerRecord], *, now_ms: int) -> Spooled: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaOrSpool:
    """Lands records, one or many at a time, from any number of threads.

    Once Kafka let one caller wait in vain, the others go to the spool at once; now and then one of
    them tries Kafka for half a second, and the first confirmation brings all of them back.

    What was spooled because Kafka did not confirm in time may be in Kafka all the same: then it is
    there twice, with equal ids.
    """

    producer: Producer
    spool: RecordSpool
    breaker: CircuitBreaker
    now_ms: Callable[[], int]
    produce_s: float = PRODUCE_S

    def land_all(
        self, records: Sequence[ProducerRecord], *, until_s: float = math.inf
    ) -> list[KafkaPosition | Spooled | NotDurableError]:
        """Say for each record where it is durable, or that it is not: then it may be sent again.

        ``until_s``, by ``time.monotonic``, is when an answer must be there.
        """
        landed = self._in_kafka(records, until_s - SPOOL_S)
        pairs = zip(records, landed, strict=True)
        left = [record for record, place in pairs if isinstance(place, NotDurableError)]
        if not left:
            return [*landed]
        try:
            spooled = self.spool.put(left, now_ms=self.now_ms())
        except SpoolUnavailableError as problem:
            return [
                NotDurableError(place.topic, place.waited_s, f"{place.problem}; and {problem}")
                if isinstance(place, NotDurableError)
                else place
                for place in landed
            ]
        return [spooled if isinstance(place, NotDurableError) else place for place in landed]

    def _in_kafka(
        self, records: Sequence[ProducerRecord], until_s: float
    ) -> list[KafkaPosition | NotDurableError]:
        now_s = time.monotonic()
        turn = Turn.ASK if self.breaker.opened_ms is None else self._turn(now_s)
        within_s = min(until_s - now_s, _PROBE_S if turn is Turn.PROBE else self.produce_s)
        if turn is Turn.LEAVE or within_s <= 0:
            return [NotDurableError(record.topic, 0.0, "it did not before") for record in records]
        landed = self.producer.land_all(records, within_s=within_s)
        lost = [place for place in landed if isinstance(place, NotDurableError)]
        if any(not isinstance(place, RecordRefusedError) for place in lost):
            self.breaker.failed(int(time.monotonic() * 1000))
        elif landed and self.breaker.opened_ms is not None:
            self.breaker.succeeded()
        return landed

    def _turn(self, now_s: float) -> Turn:
        """Kafka may have confirmed a record for which nobody waits any more: that closes too."""
        opened_ms = self.breaker.opened_ms
        self.producer.serve()
        if opened_ms is not None and self.producer.confirmed_s * 1000 > opened_ms:
            self.breaker.succeeded()
        return self.breaker.turn(int(now_s * 1000))
