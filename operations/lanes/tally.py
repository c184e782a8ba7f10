"""Counts of messages by lane, for people who watch. The ledger compares ids instead."""

import threading
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import msgspec

from clients.kafka.reader import KafkaReader, KafkaUnreadableError, Record
from fleetlane.events import headers as ce
from fleetlane.events.lanes import Lane
from fleetlane.events.metadata import Outcome, parsed_from
from fleetlane.events.topics import FLEET_PARSED, UnknownTopicError, parsed_raw_topic
from operations.lanes.parse_delays import ParseDelays
from operations.ledger.evidence import Evidence

_FIRST_ATTEMPT: Final = (ce.ATTEMPT, b"1")
_POLL_INTERVAL_S: Final = 0.5


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
            if record.topic == FLEET_PARSED:
                self._fold_attempt(record)
            elif record.topic.startswith("raw.") and _FIRST_ATTEMPT in record.headers:
                self._fold_landing(record)

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

    def _fold_landing(self, record: Record) -> None:
        try:
            self._landed[parsed_raw_topic(record.topic).lane] += 1
        except UnknownTopicError:
            return

    def _fold_attempt(self, record: Record) -> None:
        try:
            attempt = parsed_from(record.value or b"")
        except msgspec.DecodeError:
            return
        self._attempts[attempt.lane, attempt.outcome] += 1


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
