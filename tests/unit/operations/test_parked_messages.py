"""Which parked messages there are, and which of them are meant."""

import pytest

from fleetlane.events.errors import ParkedReason
from fleetlane.events.names import AmbiguousIdError
from operations.messages.parked import ParkedFilter, newest_parked, parked_message
from tests.unit.operations.stored_messages import (
    ARRIVAL_MS,
    OTHER_ID,
    RAW_ID,
    FakeStore,
    message_of,
)


def test_a_parked_record_says_what_why_and_where_from() -> None:
    record = FakeStore().park(message_of(revision=2, attempt=3), at_ms=ARRIVAL_MS + 5)

    parked = parked_message(record)

    assert (parked.identity, parked.stream, parked.device_id) == (RAW_ID, "tank", "d-17")
    assert (parked.reason, parked.parser) == ("malformed", "tank@1.0.0")
    assert parked.detail == "5 bytes; a level is 6 bytes"
    assert (parked.parked_from, parked.parked_ms) == ("raw.standard/0/3", ARRIVAL_MS + 5)
    assert (parked.attempt, parked.revision, parked.body_bytes) == (3, 2, 2)


def test_a_record_that_is_no_message_is_known_by_where_it_came_from() -> None:
    headers = (("ce_parkedreason", b"bad_envelope"), ("ce_parkedfrom", b"raw.fast/1/7"))
    record = FakeStore().write("parked", value=b"?", headers=headers)

    parked = parked_message(record)

    assert (parked.identity, parked.is_message, parked.stream) == ("raw.fast/1/7", False, None)


def test_a_message_that_was_parked_again_counts_as_it_was_parked_last() -> None:
    store = FakeStore()
    store.park(message_of(attempt=3), ParkedReason.TIMEOUT, at_ms=ARRIVAL_MS + 9)
    store.park(message_of(), ParkedReason.MALFORMED)

    found = newest_parked(store.records, ParkedFilter())

    assert [(one.reason, one.attempt) for one in found] == [("timeout", 3)]
    assert newest_parked(store.records, ParkedFilter(reason="malformed")) == []


def test_the_oldest_comes_first() -> None:
    store = FakeStore()
    store.park(message_of(RAW_ID), at_ms=ARRIVAL_MS + 1)
    store.park(message_of(OTHER_ID), at_ms=ARRIVAL_MS)

    found = newest_parked(store.records, ParkedFilter())

    assert [one.identity for one in found] == [OTHER_ID, RAW_ID]


@pytest.mark.parametrize(
    ("wanted", "is_taken"),
    [
        (ParkedFilter(), True),
        (ParkedFilter(stream="tank"), True),
        (ParkedFilter(stream="other"), False),
        (ParkedFilter(reason="malformed"), True),
        (ParkedFilter(reason="timeout"), False),
        (ParkedFilter(parser="tank"), True),
        (ParkedFilter(parser="tank@1.0.0"), True),
        (ParkedFilter(parser="tank@1"), False),
        (ParkedFilter(since_ms=ARRIVAL_MS), True),
        (ParkedFilter(since_ms=ARRIVAL_MS + 1), False),
        (ParkedFilter(until_ms=ARRIVAL_MS), False),
        (ParkedFilter(until_ms=ARRIVAL_MS + 1), True),
        (ParkedFilter(ids=frozenset({RAW_ID})), True),
        (ParkedFilter(ids=frozenset({OTHER_ID})), False),
    ],
    ids=str,
)
def test_a_filter_takes_what_it_names(wanted: ParkedFilter, *, is_taken: bool) -> None:
    parked = parked_message(FakeStore().park(message_of()))

    assert wanted.takes(parked) is is_taken


def test_what_no_parser_saw_is_of_no_parser() -> None:
    parked = parked_message(FakeStore().park(message_of(), ParkedReason.NO_FLOW, parser=None))

    assert not ParkedFilter(parser="tank").takes(parked)


def test_the_beginning_of_an_id_is_enough_and_a_whole_id_is_itself_alone() -> None:
    store = FakeStore()
    store.park(message_of())
    for offset in (7, 70):
        headers = (
            ("ce_parkedreason", b"bad_envelope"),
            ("ce_parkedfrom", b"raw.fast/1/%d" % offset),
        )
        store.write("parked", value=b"?", headers=headers)

    def ids_of(given: str) -> list[str]:
        found = newest_parked(store.records, ParkedFilter(ids=frozenset({given})))
        return [one.identity for one in found]

    assert (ids_of(RAW_ID[:5]), ids_of("raw.fast/1/7")) == ([RAW_ID], ["raw.fast/1/7"])
    with pytest.raises(AmbiguousIdError, match=r"raw\.fast/1/7, raw\.fast/1/70"):
        ids_of("raw.fast")
