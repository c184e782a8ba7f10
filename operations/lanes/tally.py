"""Counts of messages by lane, and how long they wait. The ledger compares ids instead."""

import math
import threading
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import msgspec

from clients.kafka.reader import KafkaReader, KafkaUnreadableError, Partition
from fleetlane.events import headers as ce
from fleetlane.events.envelope import Record
from fleetlane.events.lanes import Lane
from fleetlane.events.metadata import Outcome, Parsed, parsed_from
from fleetlane.events.topic_patterns import lane_of
from fleetlane.events.topics import FLEET_PARSED
from operations.ledger.evidence import Evidence

_FIRST_ATTEMPT: Final = (ce.ATTEMPT, b"1")
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


class ParseDelays:
    """Measures records of ``fleet.parsed``, except of the ``excluded`` devices.

    Only first attempts that were parsed in the standard lane count: most of a fleet sends there.
    """

    def __init__(self, *, excluded: Collection[str]) -> None:
        self._excluded = frozenset(excluded)
        self._arrived_parsed: list[tuple[int, int]] = []

    def fold(self, records: Iterable[Record]) -> None:
        for row in filter(None, map(_attempt_in, records)):
            is_measured = (row.attempt, row.outcome, row.lane) == _MEASURED
            if is_measured and row.received_ms is not None and row.device_id not in self._excluded:
                self._arrived_parsed.append((row.received_ms, row.parsed_ms))

    def between(self, since_ms: int, until_ms: int) -> Delays | None:
        """Of messages that arrived in this range, its end excluded; ``None`` if there are none."""
        waited = sorted(
            parsed_ms - arrived_ms
            for arrived_ms, parsed_ms in self._arrived_parsed
            if since_ms <= arrived_ms < until_ms
        )
        if not waited:
            return None
        return Delays(
            messages=len(waited), p50_s=_quantile(waited, 0.5), p95_s=_quantile(waited, 0.95)
        )


def _quantile(values_ms: list[int], share: float) -> float:
    """The least value that this share does not exceed, in seconds; ``values_ms`` are sorted."""
    return values_ms[max(0, math.ceil(share * len(values_ms)) - 1)] / 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneCounts:
    """One lane's first landings, and attempts to parse by outcome."""

    landed: int = 0
    parsed: int = 0
    empty: int = 0
    diverted: int = 0
    parked: int = 0


class LaneTally:
    """Counts records of the raw topics and of ``fleet.parsed``; others are ignored."""

    def __init__(self) -> None:
        self._landed: Counter[Lane] = Counter()
        self._attempts: Counter[tuple[Lane, Outcome]] = Counter()

    def fold(self, records: Iterable[Record]) -> None:
        for record in records:
            if (attempt := _attempt_in(record)) is not None:
                self._attempts[attempt.lane, attempt.outcome] += 1
            elif _FIRST_ATTEMPT in record.headers and (lane := lane_of(record.topic)) is not None:
                self._landed[lane] += 1

    @property
    def counts(self) -> Mapping[Lane, LaneCounts]:
        """All lanes, those without traffic included."""
        return {
            lane: LaneCounts(
                landed=self._landed[lane],
                **{outcome.value: self._attempts[lane, outcome] for outcome in Outcome},
            )
            for lane in Lane
        }


class RecentAttempts:
    """Which raw records were attempted lately, by what ``fleet.parsed`` says."""

    def __init__(self) -> None:
        self._offsets: defaultdict[Partition, set[int]] = defaultdict(set)

    def noted(self, records: Iterable[Record]) -> Iterator[Record]:
        """Give records of ``fleet.parsed`` on, and note them."""
        for record in records:
            if (row := _attempt_in(record)) is not None:
                self._offsets[row.source_topic, row.source_partition].add(row.source_offset)
            yield record

    def first_waiting(self, partition: Partition, begin: int) -> int:
        """The first offset from ``begin`` on that was not attempted."""
        while begin in self._offsets[partition]:
            begin += 1
        return begin

    def waiting(self, partition: Partition, begin: int, end: int) -> int:
        """How many records were not attempted, from ``begin`` to before ``end``."""
        attempted = sum(begin <= offset < end for offset in self._offsets[partition])
        return max(0, end - begin - attempted)


def _attempt_in(record: Record) -> Parsed | None:
    """The attempt that a record of ``fleet.parsed`` tells of; ``None`` of any other record."""
    if record.topic == FLEET_PARSED:
        with suppress(msgspec.DecodeError):
            return parsed_from(record.value or b"")
    return None


class TalliedSource:
    """A reader whose records are counted by lane, and their delays measured, as they are read."""

    def __init__(self, reader: KafkaReader, tally: LaneTally, delays: ParseDelays) -> None:
        self._reader, self._tally, self._delays = reader, tally, delays

    def read_available(self) -> Sequence[Record]:
        records = self._reader.read_available()
        self._tally.fold(records)
        self._delays.fold(records)
        return records

    def fold_into(self, evidence: Evidence, *, until: threading.Event) -> None:
        """Read and fold new records until ``until`` is set. Blocks."""
        while not until.wait(_POLL_INTERVAL_S):
            with suppress(KafkaUnreadableError):  # what is not read now is read later
                evidence.fold(self.read_available())
