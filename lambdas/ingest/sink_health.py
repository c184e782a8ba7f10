"""How the sinks of ingest are, by what recent requests saw of them. Nothing is asked for it."""

import time
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Final

from clients.kafka.producer import NotDurableError
from clients.s3.spool import Spooled
from fleetlane.events.envelope import KafkaPosition

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

    def saw_records(self, places: Sequence[KafkaPosition | Spooled | NotDurableError]) -> None:
        """Where records that were landed together stand; those that failed are what counts."""
        others = [place for place in places if not isinstance(place, KafkaPosition)]
        if places:
            self.saw(Sink.KAFKA, Condition.FAILING if others else Condition.OK)
        if others:  # they went to the spool, or were to
            is_lost = any(isinstance(place, NotDurableError) for place in others)
            self.saw(Sink.OBJECT_STORE, Condition.FAILING if is_lost else Condition.OK)

    def conditions(self) -> Mapping[Sink, Condition]:
        """How each sink is; what was seen over ``RECENT_S`` ago does not count."""
        oldest_s = self._monotonic() - RECENT_S
        known = {sink: how for sink, (at_s, how) in self._last.items() if at_s >= oldest_s}
        return {sink: known.get(sink, Condition.UNKNOWN) for sink in Sink}
