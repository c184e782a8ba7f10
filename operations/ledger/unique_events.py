"""What stands in ``unique.<stream>``, held against what stands in ``canonical.<stream>``."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from fleetlane.events.canonical import CanonicalEvent
from fleetlane.events.flows.flow import Flow


class EventKey(NamedTuple):
    """What makes two canonical records the same event."""

    stream: str
    event_id: str
    revision: int


def deduped_streams(flows: Mapping[str, Flow]) -> frozenset[str]:
    """The streams of which there must be a topic without repeats."""
    return frozenset(stream for stream, flow in flows.items() if flow.dedupe is not None)


class UniqueEvents:
    """Distinct events of deduped streams on both sides; records come in any order.

    Two messages may have the same event: then one record without repeats is both's.
    """

    def __init__(self, deduped: Collection[str]) -> None:
        self._deduped = frozenset(deduped)
        self._canonical: set[EventKey] = set()
        self._unique: set[EventKey] = set()
        self._awaiting: defaultdict[EventKey, list[set[EventKey]]] = defaultdict(list)

    def await_event(self, topic: str, event: CanonicalEvent, not_unique: set[EventKey]) -> None:
        """Hold an event in ``not_unique`` for as long as it stands in ``canonical`` alone."""
        prefix, _, stream = topic.partition(".")
        if prefix != "canonical" or stream not in self._deduped:
            return
        key = EventKey(stream, event.id, event.revision)
        self._canonical.add(key)
        if key not in self._unique:
            not_unique.add(key)
            self._awaiting[key].append(not_unique)

    def take(self, topic: str, event: CanonicalEvent) -> bool:
        """Take in a record without repeats; returns whether it is a repeat all the same."""
        key = EventKey(topic.partition(".")[2], event.id, event.revision)
        is_repeat = key in self._unique
        self._unique.add(key)
        for waiting in self._awaiting.pop(key, ()):
            waiting.discard(key)
        return is_repeat

    def invented(self) -> Iterable[tuple[str, str]]:
        """Topic and id of what stands in ``unique`` alone, of the streams that are deduped."""
        for key in sorted(self._unique - self._canonical):
            if key.stream in self._deduped:
                yield f"unique.{key.stream}", key.event_id
