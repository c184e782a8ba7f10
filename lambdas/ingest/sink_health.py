"""How the sinks of ingest are, by what recent requests saw of them. Nothing is asked for it."""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Final

from clients.kafka.producer import NotDurableError
from clients.kafka.producer_record import ProducerRecord
from clients.s3.payload_bucket import PayloadUnavailableError
from clients.s3.spool import Spooled
from fleetlane.events.envelope import KafkaPosition, PayloadReference
from lambdas.ingest.service import PayloadStore, RecordLander

RECENT_S: Final = 60.0


class Sink(StrEnum):
    """Where bytes are made durable: the object store has the large bodies, and the spool."""

    KAFKA = "kafka"
    OBJECT_STORE = "object_store"


class Condition(StrEnum):
    """How a sink is. ``unknown``: no request needed it lately."""

    OK = "ok"
    FAILING = "failing"
    UNKNOWN = "unknown"


class SinkHealth:
    """Remembers how the last use of each sink ended. May be used by several threads."""

    def __init__(self, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._last: dict[Sink, tuple[float, Condition]] = {}

    def saw(self, sink: Sink, condition: Condition) -> None:
        self._last[sink] = (self._monotonic(), condition)

    def conditions(self) -> Mapping[Sink, Condition]:
        """How each sink is; what was seen over ``RECENT_S`` ago does not count."""
        oldest_s = self._monotonic() - RECENT_S
        known = {sink: how for sink, (at_s, how) in self._last.items() if at_s >= oldest_s}
        return {sink: known.get(sink, Condition.UNKNOWN) for sink in Sink}


class ObservedLander:
    """Another lander; where each record came to stand is remembered."""

    def __init__(self, lander: RecordLander, health: SinkHealth) -> None:
        self._lander, self._health = lander, health

    def land_all(
        self, records: Sequence[ProducerRecord], *, until_s: float = math.inf
    ) -> Sequence[KafkaPosition | Spooled | NotDurableError]:
        """Land as the other does. Of records together, those that failed are what counts."""
        places = self._lander.land_all(records, until_s=until_s)
        others = [place for place in places if not isinstance(place, KafkaPosition)]
        self._health.saw(Sink.KAFKA, Condition.FAILING if others else Condition.OK)
        if others:  # they went to the spool, or were to
            is_lost = any(isinstance(place, NotDurableError) for place in others)
            condition = Condition.FAILING if is_lost else Condition.OK
            self._health.saw(Sink.OBJECT_STORE, condition)
        return places


class ObservedPayloads:
    """Another store of payloads, whose successes and failures are remembered."""

    def __init__(self, payloads: PayloadStore, health: SinkHealth) -> None:
        self._payloads, self._health = payloads, health

    def put(self, key: str, body: bytes, sha256_hex: str) -> PayloadReference:
        """Raises as the other does."""
        try:
            reference = self._payloads.put(key, body, sha256_hex)
        except PayloadUnavailableError:
            self._health.saw(Sink.OBJECT_STORE, Condition.FAILING)
            raise
        self._health.saw(Sink.OBJECT_STORE, Condition.OK)
        return reference
