"""What Kafka holds of all messages, gathered record by record."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from hashlib import sha256
from typing import Final

import msgspec

from fleetlane.events.canonical import CanonicalEvent, canonical_event_from
from fleetlane.events.envelope import BadEnvelopeError, Message, Record
from fleetlane.events.envelope_reading import message_from
from fleetlane.events.flows.flow import Flow
from fleetlane.events.metadata import counts_more, parsed_from, received_from
from fleetlane.events.topic_patterns import unique_pattern
from fleetlane.events.topics import FLEET_PARSED, FLEET_RECEIVED, PARKED
from operations.ledger.message_evidence import EventKey, MessageEvidence
from operations.messages.parked import parked_message
from operations.messages.trace import TRACED_TOPICS


def deduped_streams(flows: Mapping[str, Flow]) -> frozenset[str]:
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

    def take(self, topic: str, event: CanonicalEvent) -> None:
        """Add a record of ``unique``, which may be there already."""
        key = EventKey(topic.partition(".")[2], event.id, event.revision)
        self._unique.add(key)
        for waiting in self._awaiting.pop(key, ()):
            waiting.discard(key)

    def invented(self) -> Iterable[tuple[str, str]]:
        """Topic and id of events that are only in ``unique``, of the deduplicated streams."""
        for key in sorted(self._unique - self._canonical):
            if key.stream in self._deduped:
                yield f"unique.{key.stream}", key.event_id


LEDGER_TOPICS: Final = f"{TRACED_TOPICS}|{unique_pattern()}"
"""The regular expression of all topics that count as evidence."""


class Evidence:
    """Gathers records, in any order, by raw id. Holds no bodies.

    Events of the ``deduped`` streams must be in ``unique.<stream>`` as well.
    """

    def __init__(self, *, deduped: Collection[str] = ()) -> None:
        self.unique = UniqueEvents(deduped)
        self.foreign_raw: set[str] = set()
        """Positions of raw records that are not our messages."""
        self.foreign_downstream: set[str] = set()
        """Positions that downstream records without a readable raw id come from."""
        self.by_raw_id = defaultdict[str, MessageEvidence](MessageEvidence)
        self._folds: Final[Mapping[str, Callable[[Record], None]]] = {
            PARKED: self._fold_parked,
            FLEET_PARSED: self._fold_attempt,
            FLEET_RECEIVED: self._fold_received,
            "raw": self._fold_raw,
            "unique": self._fold_unique,
        }

    def fold(self, records: Iterable[Record]) -> None:
        """Add records that were read. The same record must not be added twice."""
        for record in records:
            try:
                fold = self._folds.get(record.topic) or self._folds.get(
                    record.topic.partition(".")[0], self._fold_canonical
                )
                fold(record)
            except (BadEnvelopeError, msgspec.DecodeError):
                self._take_foreign(record)

    def _fold_raw(self, record: Record) -> None:
        message = message_from(record.headers, record.value)
        digest = _digest(message) if message.truncated_from_bytes is None else None
        found = self.by_raw_id[message.raw_id]
        found.digests[record.topic, record.partition, record.offset] = digest
        if message.attempt == 1:  # a diversion lands nothing anew
            found.landings[digest] += 1

    def _fold_received(self, record: Record) -> None:
        self.by_raw_id[received_from(record.value or b"").id].is_received = True

    def _fold_attempt(self, record: Record) -> None:
        parsed = parsed_from(record.value or b"")
        place = parsed.source_topic, parsed.source_partition, parsed.source_offset
        attempts = self.by_raw_id[parsed.id].attempts
        if counts_more(parsed, attempts.get(place)):
            attempts[place] = parsed

    def _fold_canonical(self, record: Record) -> None:
        event = canonical_event_from(record.value or b"")
        found = self.by_raw_id[event.rawid]
        found.event_ids[event.revision].add(event.id)
        self.unique.await_event(record.topic, event, found.not_unique)

    def _fold_unique(self, record: Record) -> None:
        self.unique.take(record.topic, canonical_event_from(record.value or b""))

    def _fold_parked(self, record: Record) -> None:
        message = message_from(record.headers, record.value)
        self.by_raw_id[message.raw_id].parked[_digest(message)] = parked_message(record)

    def _take_foreign(self, record: Record) -> None:
        position = str(record.position)
        if record.topic.startswith("raw."):
            self.foreign_raw.add(position)
        else:
            self.foreign_downstream.add(parked_message(record).parked_from or position)


def _digest(message: Message) -> str:
    if message.reference is not None:
        return message.reference.sha256
    return sha256(message.body or b"").hexdigest()
