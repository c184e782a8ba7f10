"""Counts of what goes by, lane by lane: for people who watch. The ledger goes by id instead."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import msgspec

from fleetlane.events.lanes import Lane
from fleetlane.events.metadata import Outcome, parsed_from
from fleetlane.events.topics import FLEET_PARSED, UnknownTopicError, parsed_raw_topic
from operations.ledger.evidence import KafkaRecord

_FIRST_ATTEMPT: Final = ("ce_attempt", b"1")


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneCounts:
    """What one lane saw: first landings, and attempts to parse by what came of them."""

    landed: int = 0
    parsed: int = 0
    empty: int = 0
    diverted: int = 0
    parked: int = 0


class LaneTally:
    """Folds records of the raw topics and of ``fleet.parsed``; others do not count."""

    def __init__(self) -> None:
        self._landed: Counter[Lane] = Counter()
        self._attempts: Counter[tuple[Lane, Outcome]] = Counter()

    def fold(self, records: Iterable[KafkaRecord]) -> None:
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

    def _fold_landing(self, record: KafkaRecord) -> None:
        try:
            self._landed[parsed_raw_topic(record.topic).lane] += 1
        except UnknownTopicError:
            return

    def _fold_attempt(self, record: KafkaRecord) -> None:
        try:
            attempt = parsed_from(record.value or b"")
        except msgspec.DecodeError:
            return
        self._attempts[attempt.lane, attempt.outcome] += 1
