import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fleetlane.parsers.contract import MalformedMessage
from fleetlane.parsers.formats.ndjson import Ndjson

quick = settings(max_examples=100, deadline=None)


@pytest.mark.parametrize(
    ("message", "events"),
    [
        (b"", []),
        (b"\n \r\n", []),
        (b'{"t":1}', [{"t": 1}]),
        (b'{"t":1}\n{"t":2}\n', [{"t": 1}, {"t": 2}]),
        (b'{"t":1}\r\n\r\n  {"t":2}', [{"t": 1}, {"t": 2}]),
        (rb'{"t":"a\nb"}', [{"t": "a\nb"}]),
        ('{"t":"\x85\u2028"}'.encode(), [{"t": "\x85\u2028"}]),
    ],
)
def test_each_line_that_is_not_blank_is_an_event(
    message: bytes, events: list[dict[str, object]]
) -> None:
    found = list(Ndjson().parse(message))

    assert found == events


@pytest.mark.parametrize(
    ("message", "why"),
    [
        (b'{"t":1}\n\n{"t":', "line 3: not JSON"),
        (b'{"t":1}\n[]', "line 2 is an array; events are objects"),
        (b'{"t":1}{"t":2}', "line 1: not JSON"),
        (b'{"t":\n1}', "line 1: not JSON"),
        (b'{"t":1}\n{"t":1,"t":2}', "line 2: key 't' is repeated"),
        (b'{"t":1}\n\xff', "line 2: not UTF-8"),
    ],
)
def test_a_malformed_line_is_named(message: bytes, why: str) -> None:
    with pytest.raises(MalformedMessage) as refusal:
        list(Ndjson().parse(message))

    assert why in str(refusal.value)


@quick
@given(events=st.lists(st.dictionaries(st.text("a\n\r\u2028", max_size=3), st.integers(0, 9))))
def test_lines_come_back_as_written(events: list[dict[str, int]]) -> None:
    message = "\n".join(json.dumps(event, ensure_ascii=False) for event in events).encode()

    found = list(Ndjson().parse(message))

    assert found == events


@quick
@given(message=st.binary(max_size=60) | st.text('[]{}":,ab1\n', max_size=30).map(str.encode))
def test_any_bytes_give_events_or_malformed(message: bytes) -> None:
    try:
        found = list(Ndjson().parse(message))
    except MalformedMessage:
        return

    assert all(isinstance(event, dict) for event in found)
