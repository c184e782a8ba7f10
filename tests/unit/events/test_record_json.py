"""Records as lines of JSON: whole, there and back."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetlane.events.envelope import Record
from fleetlane.events.record_json import BadRecordJsonError, record_from_json, record_json

RECORD = Record(
    topic="parked",
    partition=0,
    offset=7,
    timestamp_ms=1_762_178_709_123,
    key=b"1762178709123",
    value=b"\x01\x02",
    headers=(("ce_id", b"1ab"), ("x", None), ("odd", b"\xff")),
)

maybe_bytes = st.none() | st.binary(max_size=20)
records = st.builds(
    replace,
    st.just(RECORD),
    key=maybe_bytes,
    value=maybe_bytes,
    headers=st.lists(st.tuples(st.text(st.characters(codec="utf-8")), maybe_bytes)).map(tuple),
)


def test_the_line_is_as_documented() -> None:
    line = record_json(RECORD)

    assert json.loads(line) == {
        "topic": "parked",
        "partition": 0,
        "offset": 7,
        "timestamp_ms": 1_762_178_709_123,
        "key": "1762178709123",
        "headers": [["ce_id", "1ab"], ["x", None], ["odd", {"base64": "/w=="}]],
        "value": "AQI=",
    }


@given(record=records)
def test_what_is_written_is_read_back_whole(record: Record) -> None:
    line = record_json(record)

    found = record_from_json(line)
    assert (found.key, found.headers, found.value) == (record.key, record.headers, record.value)


@given(record=records)
def test_a_record_is_one_line(record: Record) -> None:
    line = record_json(record)

    assert len(line.splitlines()) == 1


def test_headers_and_value_are_enough() -> None:
    found = record_from_json('{"headers": [], "value": null}')

    assert (found.headers, found.value, found.topic) == ((), None, None)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("", "Input data was truncated"),
        ("[]", "Expected `object`, got `array`"),
        ('{"headers": []}', "missing required field `value`"),
        ('{"value": ""}', "missing required field `headers`"),
        ('{"headers": [], "value": "?"}', "Invalid base64"),
        ('{"headers": [["a"]], "value": ""}', "Expected `array` of length 2"),
        (b"\xff", "malformed"),
    ],
)
def test_another_line_is_refused(line: str | bytes, why: str) -> None:
    with pytest.raises(BadRecordJsonError) as refusal:
        record_from_json(line)

    assert why in str(refusal.value)
