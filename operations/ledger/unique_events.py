"""The events of ``unique.<stream>``, compared with those of ``canonical.<stream>``."""

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
    """The streams that must have a deduplicated topic."""
    return frozenset(stream for stream, flow in flows.items() if flow.dedupe is not None)


class UniqueEvents:
    """Distinct events of deduplicated streams in both topics; records come in any order.

    Two messages may have the same event: then one record in ``unique`` is enough for both.
    """

    def __init__(self, deduped: Collection[str]) -> None:
        self._deduped = frozenset(deduped)
        self._canonical: set[EventKey] = set()
        self._unique: set[EventKey] = set()
        self._awaiting: defaultdict[EventKey, list[set[EventKey]]] = defaultdict(list)

    def await_event(self, topic: str, event: CanonicalEvent, not_unique: set[EventKey]) -> None:
        """Keep an event in ``not_unique`` for as long as it is only in ``canonical``."""
        prefix, _, stream = topic.partition(".")
        if prefix != "canonical" or stream not in self._deduped:
            return
        key = EventKey(stream, event.id, event.revision)
        self._canonical.add(key)
        if key not in self._unique:
            not_unique.add(key)
            self._awaiting[key].append(not_unique)

    def take(self, topic: str, event: CanonicalEvent) -> bool:
        """Add a record of ``unique``; returns whether it is a repeat all the same."""
        key = EventKey(topic.partition(".")[2], event.id, event.revision)
        is_repeat = key in self._unique
        self._unique.add(key)
        for waiting in self._awaiting.pop(key, ()):
            waiting.discard(key)
        return is_repeat

    def invented(self) -> Iterable[tuple[str, str]]:
        """Topic and id of events that are only in ``unique``, of the deduplicated streams."""
        for key in sorted(self._unique - self._canonical):
            if key.stream in self._deduped:
                yield f"unique.{key.stream}", key.event_id
