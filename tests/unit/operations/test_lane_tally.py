"""Counting what goes by."""

import pytest

from fleetlane.events.envelope import Record
from fleetlane.events.lanes import Lane
from fleetlane.events.metadata import Outcome
from operations.lanes.tally import LaneCounts, LaneTally
from tests.unit.operations.parsed_record import parsed_record


def raw(topic: str, attempt: bytes) -> Record:
    return Record(
        topic=topic,
        partition=0,
        offset=0,
        timestamp_ms=0,
        key=None,
        value=b"x",
        headers=(("ce_attempt", attempt),),
    )


@pytest.mark.parametrize("outcome", Outcome)
def test_an_attempt_counts_for_its_lane_and_outcome(outcome: Outcome) -> None:
    tally = LaneTally()

    tally.fold([parsed_record(lane=Lane.SLOW, outcome=outcome)])

    assert getattr(tally.counts[Lane.SLOW], outcome.value) == 1


def test_what_cannot_be_read_does_not_count() -> None:
    tally = LaneTally()

    tally.fold([raw("raw.unknown", b"1"), raw("fleet.parsed", b"1"), raw("canonical.x", b"1")])

    assert set(tally.counts.values()) == {LaneCounts()}
