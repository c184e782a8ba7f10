import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fleetlane.parsers.contract import MalformedMessage
from fleetlane.parsers.formats.json import Json

quick = settings(max_examples=100, deadline=None)

NESTED = b'{"serial":"s1","data":{"readings":[{"t":1},{"t":2,"serial":"own"}],"last":{"t":3}}}'


@pytest.mark.parametrize(
    ("message", "events"),
    [
        (b'{"t":1}', [{"t": 1}]),
        (b"{}", [{}]),
        (b'[{"t":1},{"t":2}]', [{"t": 1}, {"t": 2}]),
        (b"[]", []),
    ],
)
def test_an_object_is_one_event_and_an_array_many(
    message: bytes, events: list[dict[str, object]]
) -> None:
    found = list(Json().parse(message))

    assert found == events


@pytest.mark.parametrize(
    ("message", "why"),
    [
        (b'"t"', "the document is a string"),
        (b"1", "the document is a number"),
        (b"null", "the document is null"),
        (b"true", "the document is a boolean"),
        (b'[{"t":1},[]]', "element 1 of the document is an array"),
        (b"{", "not JSON"),
    ],
)
def test_anything_else_is_malformed_by_name(message: bytes, why: str) -> None:
    with pytest.raises(MalformedMessage) as refusal:
        list(Json().parse(message))

    assert why in str(refusal.value)


@pytest.mark.parametrize(
    ("events_at", "events"),
    [("data.readings", [{"t": 1}, {"t": 2, "serial": "own"}]), ("data.last", [{"t": 3}])],
)
def test_events_are_found_at_a_path(events_at: str, events: list[dict[str, object]]) -> None:
    found = list(Json(events_at=events_at).parse(NESTED))

    assert found == events


def test_shared_fields_are_copied_where_an_event_has_none_of_its_own() -> None:
    parser = Json(events_at="data.readings", shared_fields=("serial", "missing"))

    found = list(parser.parse(NESTED))

    assert found == [{"t": 1, "serial": "s1"}, {"t": 2, "serial": "own"}]


@pytest.mark.parametrize(
    ("events_at", "why"),
    [
        ("nothing", "no 'nothing' of 'nothing' in the document"),
        ("serial.x", "no 'x' of 'serial.x': found a string, not an object"),
        ("serial", "'serial' is a string; allowed: an object, or an array"),
    ],
)
def test_a_path_that_leads_to_no_events_is_malformed(events_at: str, why: str) -> None:
    with pytest.raises(MalformedMessage) as refusal:
        list(Json(events_at=events_at).parse(NESTED))

    assert why in str(refusal.value)


@pytest.mark.parametrize("events_at", [".", "a.", ".a", "a..b"])
def test_a_path_with_an_empty_name_is_refused(events_at: str) -> None:
    with pytest.raises(ValueError, match="empty name"):
        Json(events_at=events_at)


def test_shared_fields_without_a_path_are_refused() -> None:
    with pytest.raises(ValueError, match="needs events_at"):
        Json(shared_fields=("serial",))


@quick
@given(message=st.binary(max_size=60) | st.text('[]{}":,ab1 ', max_size=30).map(str.encode))
def test_any_bytes_give_events_or_malformed(message: bytes) -> None:
    try:
        found = list(Json(events_at="a", shared_fields=("b",)).parse(message))
    except MalformedMessage:
        return

    assert all(isinstance(event, dict) for event in found)
