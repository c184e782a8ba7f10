"""Counts of messages by lane, and how long they wait. The ledger compares ids instead."""

import math
import threading
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from typing import Final

import msgspec

from clients.kafka.reader import KafkaUnreadableError, Partition
from fleetlane.events.envelope import Record
from fleetlane.events.lanes import Lane
from fleetlane.events.metadata import Outcome, Parsed, parsed_from
from fleetlane.events.topics import FLEET_PARSED
from operations.ledger.evidence import Evidence
from operations.messages.stores import RecordSource

_POLL_INTERVAL_S: Final = 0.5
_MEASURED: Final = (1, Outcome.PARSED, Lane.STANDARD)


@dataclass(frozen=True, slots=True, kw_only=True)
class Delays:
    """Median and p95 of the delays of ``messages``."""

    messages: int
    p50_s: float
    p95_s: float

    def __str__(self) -> str:
        return f"p50 {self.p50_s:.1f} s, p95 {self.p95_s:.1f} s ({self.messages:,} messages)"


class MeasuredSource:
    """A reader; measures the delays in what it reads, except of the ``excluded`` devices.

    Only first attempts that were parsed in the standard lane count: most of a fleet sends there.
    """

    def __init__(self, reader: RecordSource, *, excluded: Collection[str]) -> None:
        self._reader, self._excluded = reader, frozenset(excluded)
        self._arrived_parsed: list[tuple[int, int]] = []

    def read_available(self) -> Sequence[Record]:
        records = self._reader.read_available()
        for row in filter(None, map(_attempt_in, records)):
            is_measured = (row.attempt, row.outcome, row.lane) == _MEASURED
            if is_measured and row.received_ms is not None and row.device_id not in self._excluded:
                self._arrived_parsed.append((row.received_ms, row.parsed_ms))
        return records

    def fold_into(self, evidence: Evidence, *, until: threading.Event) -> None:
        """Read and fold new records until ``until`` is set. Blocks."""
        while not until.wait(_POLL_INTERVAL_S):
            with suppress(KafkaUnreadableError):  # what is not read now is read later
                evidence.fold(self.read_available())

    def between(self, since_ms: int, until_ms: int) -> Delays | None:
        """Of messages that arrived in this range, its end excluded; ``None`` if there are none."""
        waited = sorted(
            parsed_ms - arrived_ms
            for arrived_ms, parsed_ms in self._arrived_parsed
            if since_ms <= arrived_ms < until_ms
        )
        if not waited:
            return None
        # The least value that a share does not exceed.
        ranks = (math.ceil(share * len(waited)) for share in (0.5, 0.95))
        p50_s, p95_s = (waited[rank - 1] / 1_000 for rank in ranks)
        return Delays(messages=len(waited), p50_s=p50_s, p95_s=p95_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneCounts:
    """One lane's attempts to parse by outcome, or one stream's."""

    parsed: int = 0
    empty: int = 0
    diverted: int = 0
    parked: int = 0

    @property
    def parked_percent(self) -> float | None:
        """Of the attempts that were final; ``None`` where there were none."""
        attempts = self.parsed + self.empty + self.parked
        return 100 * self.parked / attempts if attempts else None


class LaneTally:
    """Counts records of ``fleet.parsed``, and knows by them which raw records were attempted."""

    def __init__(self) -> None:
        self._attempts: Counter[tuple[Lane, Outcome]] = Counter()
        self._of_streams: Counter[tuple[str, Outcome]] = Counter()
        self._offsets: defaultdict[Partition, set[int]] = defaultdict(set)

    def fold(self, records: Iterable[Record]) -> None:
        for attempt in filter(None, map(_attempt_in, records)):
            self._attempts[attempt.lane, attempt.outcome] += 1
            self._of_streams[attempt.stream, attempt.outcome] += 1
            source = attempt.source_topic, attempt.source_partition
            self._offsets[source].add(attempt.source_offset)

    @property
    def counts(self) -> Mapping[Lane, LaneCounts]:
        """All lanes, those without traffic included."""
        return {lane: _counts(self._attempts, lane) for lane in Lane}

    @property
    def streams(self) -> Mapping[str, LaneCounts]:
        """Streams with attempts, sorted."""
        names = sorted({name for name, _ in self._of_streams})
        return {name: _counts(self._of_streams, name) for name in names}

    def first_waiting(self, partition: Partition, begin: int) -> int:
        """The first offset from ``begin`` on that was not attempted."""
        return next(one for one in count(begin) if one not in self._offsets[partition])

    def waiting(self, partition: Partition, begin: int, end: int) -> int:
        """How many records were not attempted, from ``begin`` to before ``end``."""
        attempted = sum(begin <= offset < end for offset in self._offsets[partition])
        return max(0, end - begin - attempted)


def _counts[Key](attempts: Counter[tuple[Key, Outcome]], key: Key) -> LaneCounts:
    return LaneCounts(**{one.value: attempts[key, one] for one in Outcome})


def _attempt_in(record: Record) -> Parsed | None:
    """The attempt that a record of ``fleet.parsed`` tells of; ``None`` of any other record."""
    if record.topic == FLEET_PARSED:
        with suppress(msgspec.DecodeError):
            return parsed_from(record.value or b"")
    return None
