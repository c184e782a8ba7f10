"""One message's way, found by its own id or by that of an event."""

from copy import replace

import pytest

from fleetlane.events.metadata import Outcome
from fleetlane.events.names import AmbiguousIdError
from operations.messages.trace import NoTraceError, message_trace
from tests.unit.operations.stored_messages import (
    ARRIVAL_MS,
    OTHER_ID,
    RAW_ID,
    FakeStore,
    message_of,
)

HASHED_ID = "1" + "ef" * 16 + "-0"


@pytest.fixture
def store() -> FakeStore:
    """A message that was parked, replayed and parsed, and another one."""
    store = FakeStore()
    for message in (message_of(OTHER_ID), message_of()):
        store.land(message)
        store.receive(message)
    store.tell(message_of(), Outcome.PARKED, at_ms=ARRIVAL_MS + 1)
    store.park(message_of(), at_ms=ARRIVAL_MS + 1)
    replayed = message_of(attempt=2)
    store.land(replayed, "raw.slow", at_ms=ARRIVAL_MS + 2)
    store.tell(replayed, Outcome.PARSED, at_ms=ARRIVAL_MS + 3, events=2, parser="tank@1.1.0")
    store.emit(replayed, f"{RAW_ID}-0")
    store.emit(replayed, HASHED_ID)
    store.emit(message_of(OTHER_ID), f"{OTHER_ID}-0")
    return store


def test_all_that_the_topics_hold_of_a_message_is_found(store: FakeStore) -> None:
    trace = message_trace(store, RAW_ID, since_ms=None)

    assert [str(one.position) for one, _ in trace.landings] == ["raw.standard/0/1", "raw.slow/0/0"]
    assert [one.outcome for one in trace.attempts] == [Outcome.PARKED, Outcome.PARSED]
    assert [one.reason for one, _ in trace.parked] == ["malformed"]
    assert [event.id for _, event in trace.events] == [f"{RAW_ID}-0", HASHED_ID]
    assert len(trace.received) == 1
    assert trace.best is not None
    assert (trace.best.outcome, trace.best.parser) == (Outcome.PARSED, "tank@1.1.0")


@pytest.mark.parametrize("event_id", [f"{RAW_ID}-0", HASHED_ID])
def test_an_event_leads_to_its_message(store: FakeStore, event_id: str) -> None:
    trace = message_trace(store, event_id, since_ms=None)

    assert trace.raw_id == RAW_ID


def test_an_event_that_is_gone_leads_to_its_message_by_its_id(store: FakeStore) -> None:
    trace = message_trace(store, f"{RAW_ID}-7", since_ms=None)

    assert trace.raw_id == RAW_ID


def test_where_the_landing_has_expired_the_parked_copy_has_the_message(store: FakeStore) -> None:
    store.records = [record for record in store.records if not record.topic.startswith("raw.")]

    trace = message_trace(store, RAW_ID, since_ms=None)

    assert trace.message == message_of()


def test_events_that_a_flow_sent_to_another_topic_are_found(store: FakeStore) -> None:
    event = store.records[-2]
    store.records[-2] = replace(event, topic="canonical.tank-alarms")

    trace = message_trace(store, RAW_ID, since_ms=None)

    found = [(one.topic, event.id) for one, event in trace.events]
    assert found == [("canonical.tank", f"{RAW_ID}-0"), ("canonical.tank-alarms", HASHED_ID)]


def test_other_streams_are_not_read_where_no_event_is_missing(store: FakeStore) -> None:
    topics_read = set[str]()
    store.on_read = lambda record: topics_read.add(record.topic)
    event = store.records[-2]
    store.records.append(replace(event, topic="canonical.diagnostics"))

    trace = message_trace(store, RAW_ID, since_ms=None)

    assert len(trace.events) == 2
    assert "canonical.diagnostics" not in topics_read


def test_what_is_older_is_not_read(store: FakeStore) -> None:
    trace = message_trace(store, RAW_ID, since_ms=ARRIVAL_MS + 2)

    assert (len(trace.landings), len(trace.attempts), trace.parked) == (1, 1, [])


@pytest.mark.parametrize("wanted", ["1" + "00" * 16, "1" + "00" * 16 + "-0", "x", "", "-1"])
def test_what_is_nowhere_is_an_error(store: FakeStore, wanted: str) -> None:
    with pytest.raises(NoTraceError, match="expired, or be older than --since"):
        message_trace(store, wanted, since_ms=None)


def test_an_id_in_something_else_leads_nowhere() -> None:
    store = FakeStore()
    store.write("canonical.tank", value=f'{{"note":"{RAW_ID}"}}'.encode())
    store.write("fleet.parsed", value=RAW_ID.encode())

    with pytest.raises(NoTraceError):
        message_trace(store, RAW_ID, since_ms=None)


@pytest.mark.parametrize("beginning", [RAW_ID[:4], f"{RAW_ID}-", HASHED_ID[:4]])
def test_the_beginning_of_an_id_is_enough(store: FakeStore, beginning: str) -> None:
    trace = message_trace(store, beginning, since_ms=None)

    assert (trace.raw_id, len(trace.landings)) == (RAW_ID, 2)


def test_a_beginning_that_several_ids_have_is_an_error_that_names_some(store: FakeStore) -> None:
    for number in range(20):
        store.land(message_of(f"1{number:032x}"))

    with pytest.raises(AmbiguousIdError) as few:
        message_trace(store, "1000000000000000000000000000000000000000"[:32], since_ms=None)
    with pytest.raises(AmbiguousIdError) as many:
        message_trace(store, "1", since_ms=None)

    assert str(few.value).count(", 1") > 0
    assert str(many.value).endswith(" and more; give more of one")
    assert len(str(many.value)) < 500
