import dataclasses
import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetlane.events.errors import ParkedReason
from fleetlane.events.lanes import Lane
from fleetlane.events.metadata import (
    OLDER_PARSER_PREFIX,
    Deferral,
    Outcome,
    Parsed,
    Received,
    parsed_from,
    parsed_value,
    received_from,
)
from tests.unit.events.messages import device_ids, names, texts

RECEIVED_FIELDS = """
    id device_id device_type firmware stream lane via source_topic source_partition source_offset
    received_ms body_bytes by_reference start_ms end_ms landed_ms
"""
PARSED_FIELDS = """
    id attempt device_id stream lane source_topic source_partition source_offset outcome reason
    put_off parser revision instead_of events parse_us inflated_bytes output_bytes
    first_event_ms last_event_ms received_ms parsed_ms
"""

counts = st.integers(0, 2**63 - 1)
parsed_rows = st.builds(
    Parsed,
    id=texts,
    attempt=counts,
    device_id=device_ids,
    stream=names,
    lane=st.sampled_from(Lane),
    source_topic=texts,
    source_partition=counts,
    source_offset=counts,
    outcome=st.sampled_from(Outcome),
    parsed_ms=counts,
    reason=st.none() | st.sampled_from(ParkedReason),
    put_off=st.none() | st.sampled_from(Deferral),
    parser=st.none() | texts,
    instead_of=st.none() | texts,
    revision=counts,
    events=counts,
    parse_us=counts,
    inflated_bytes=counts,
    output_bytes=counts,
    first_event_ms=st.none() | st.integers(-(2**63), 2**63 - 1),
    last_event_ms=st.none() | st.integers(-(2**63), 2**63 - 1),
)
RECEIVED = Received(
    id="1" + "a" * 32,
    device_id="d-17",
    stream="thermo",
    lane=Lane.FAST,
    source_topic="raw.fast",
    source_partition=0,
    source_offset=7,
    received_ms=1,
    body_bytes=2,
    by_reference=False,
    device_type="t1",
)


def test_a_received_rows_fields_are_the_designs() -> None:
    names_of_fields = {field.name for field in msgspec.structs.fields(Received)}

    assert names_of_fields == set(RECEIVED_FIELDS.split())


def test_a_parsed_rows_fields_are_the_designs() -> None:
    names_of_fields = {field.name for field in dataclasses.fields(Parsed)}

    assert names_of_fields == set(PARSED_FIELDS.split())


def test_the_outcomes_are_the_designs() -> None:
    assert set(Outcome) == {"parsed", "empty", "diverted", "parked"}


@given(parsed_rows)
def test_a_parsed_row_reads_back_equal(parsed: Parsed) -> None:
    assert parsed_from(parsed_value(parsed)) == parsed


@given(parsed_rows)
def test_a_parsed_row_is_written_with_every_field(parsed: Parsed) -> None:
    assert set(json.loads(parsed_value(parsed))) == set(PARSED_FIELDS.split())


@given(parsed_rows)
def test_rows_of_an_older_parser_are_known_by_their_first_bytes(parsed: Parsed) -> None:
    is_older = parsed_value(parsed).startswith(OLDER_PARSER_PREFIX)

    assert is_older is (parsed.instead_of is not None)


@pytest.mark.parametrize("absent", ["left out", "null"])
def test_a_received_row_is_read_whether_absent_fields_are_null_or_left_out(absent: str) -> None:
    row = msgspec.to_builtins(RECEIVED)
    if absent == "left out":
        row = {name: value for name, value in row.items() if value is not None}

    assert received_from(json.dumps(row).encode()) == RECEIVED


def test_fields_of_a_later_version_are_ignored() -> None:
    row = msgspec.to_builtins(RECEIVED) | {"later": [1]}

    assert received_from(json.dumps(row).encode()) == RECEIVED


@pytest.mark.parametrize("value", [b"", b"{}", b"[]", b'{"id":1}', b"\xff"])
def test_what_is_no_row_is_refused(value: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        received_from(value)
    with pytest.raises(msgspec.DecodeError):
        parsed_from(value)
