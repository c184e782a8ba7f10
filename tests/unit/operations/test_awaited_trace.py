"""Waiting for a message: until its outcome and all that belongs to it are written."""

import pytest

from fleetlane.events.envelope import Record
from fleetlane.events.metadata import Outcome
from operations.messages.trace import awaited_trace
from tests.unit.operations.stored_messages import (
    ARRIVAL_MS,
    OTHER_ID,
    RAW_ID,
    FakeStore,
    message_of,
)


class OneByOne:
    """A reader to which one more record is written before each reading."""

    def __init__(self, store: FakeStore) -> None:
        self._waiting = list(store.records)

    def read_available(self) -> list[Record]:
        return [self._waiting.pop(0)] if self._waiting else []

    @property
    def left(self) -> int:
        return len(self._waiting)


def test_a_message_is_waited_for_until_all_of_its_events_are_there() -> None:
    store = FakeStore()
    store.land(message_of())
    store.tell(message_of(OTHER_ID), Outcome.PARSED)
    store.tell(message_of(), Outcome.PARSED, at_ms=ARRIVAL_MS + 1, events=2)
    store.emit(message_of(), f"{RAW_ID}-0")
    store.emit(message_of(), f"{RAW_ID}-1")
    store.land(message_of(OTHER_ID))
    reader = OneByOne(store)

    trace = awaited_trace(reader, RAW_ID, wait_s=60)

    assert (trace.has_ended, len(trace.events), reader.left) == (True, 2, 1)


def test_an_attempt_that_another_lane_goes_on_with_is_no_end() -> None:
    store = FakeStore()
    store.tell(message_of(), Outcome.DIVERTED)
    store.tell(message_of(attempt=2), Outcome.EMPTY, at_ms=ARRIVAL_MS + 1)

    trace = awaited_trace(OneByOne(store), RAW_ID, wait_s=60)

    assert [one.outcome for one in trace.attempts] == [Outcome.DIVERTED, Outcome.EMPTY]


def test_a_parked_message_is_waited_for_until_its_parked_record_is_there() -> None:
    store = FakeStore()
    store.tell(message_of(), Outcome.PARKED)
    store.park(message_of())

    trace = awaited_trace(OneByOne(store), RAW_ID, wait_s=60)

    assert [one.reason for one, _ in trace.parked] == ["malformed"]


@pytest.mark.parametrize("outcome", [Outcome.PARSED, Outcome.PARKED, Outcome.DIVERTED])
def test_waiting_ends_without_what_is_missing(outcome: Outcome) -> None:
    store = FakeStore()
    store.tell(message_of(), outcome, events=1)

    trace = awaited_trace(OneByOne(store), RAW_ID, wait_s=0)

    assert not trace.has_ended
