"""The newest raw messages of some streams, and which there are; a stream's newest events."""

import time
from collections import defaultdict, deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from clients.kafka.reader import Offsets, Partition
from fleetlane.events import headers as ce
from fleetlane.events.canonical import CanonicalEvent, canonical_event_from
from fleetlane.events.envelope import Record
from fleetlane.events.lanes import Lane
from fleetlane.events.topic_patterns import canonical_pattern, raw_pattern

_RECORDS_MAX: Final = 10_000
_READ_S_MAX: Final = 10.0


class Topics(Protocol):
    """What topics hold; a ``KafkaReader`` is one."""

    def partitions(self, pattern: str) -> list[Partition]: ...
    def beginnings(self, partitions: Iterable[Partition]) -> Offsets: ...
    def ends(self, partitions: Iterable[Partition]) -> Offsets: ...
    def read_between(self, begins: Offsets, ends: Offsets) -> Iterator[Record]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class NewestMessages:
    """Records by stream, oldest first, one of each message; all ``streams`` that were seen."""

    of_stream: Mapping[str, Sequence[Record]]
    streams: Collection[str]


def newest_messages(kafka: Topics, wanted: Collection[str], *, messages_max: int) -> NewestMessages:
    """Read the newest records of each raw topic, 10,000 of all together, for ten seconds at most.

    Raises ``KafkaUnreadableError``.
    """
    partitions = kafka.partitions(raw_pattern(*Lane))
    share, until_s = _RECORDS_MAX // max(1, len(partitions)), time.monotonic() + _READ_S_MAX
    newest: defaultdict[tuple[str, str, int], deque[Record]]
    newest, streams = defaultdict(lambda: deque(maxlen=messages_max)), set[str]()
    for record in _newest(kafka, partitions, share):
        stream = (dict(record.headers).get(ce.TYPE) or b"").decode(errors="replace")
        streams.add(stream)
        if stream in wanted:
            newest[stream, record.topic, record.partition].append(record)
        if time.monotonic() > until_s:
            break
    found: dict[str, dict[bytes, Record]] = {stream: {} for stream in wanted}
    for (stream, *_), records in newest.items():
        found[stream] |= {dict(one.headers).get(ce.ID) or b"": one for one in records}
    return NewestMessages(
        of_stream={
            stream: sorted(by_id.values(), key=lambda one: one.timestamp_ms)[-messages_max:]
            for stream, by_id in found.items()
        },
        streams=streams,
    )


def newest_events(
    kafka: Topics, stream: str, *, events_max: int
) -> Sequence[tuple[Record, CanonicalEvent]]:
    """The newest of a stream's canonical topic, the newest first; raises as ``newest_messages``."""
    found = _newest(kafka, kafka.partitions(canonical_pattern(stream)), events_max)
    records = sorted(found, key=lambda one: -one.timestamp_ms)[:events_max]
    return [(one, canonical_event_from(one.value or b"")) for one in records]


def _newest(kafka: Topics, partitions: list[Partition], records_max: int) -> Iterator[Record]:
    """Of each partition."""
    begins, ends = kafka.beginnings(partitions), kafka.ends(partitions)
    starts = {one: max(begins[one], ends[one] - records_max) for one in ends}
    return kafka.read_between(starts, ends)
