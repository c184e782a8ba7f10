"""Envelopes read by column, against the reading of one: what is fast is the same message."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetlane.events import headers as ce
from fleetlane.events.envelope import BadEnvelopeError, Header, Message, headers_of
from fleetlane.events.envelope_reading import message_from
from fleetlane.parsers.sandbox.runs import envelope_of
from glue_jobs.parse_lane.reading.fast_path import FastPathMessages, fast_path_messages
from glue_jobs.parse_lane.reading.raw_batches import RawRecord
from tests.unit.glue_jobs.conftest import ARRIVAL_MILLIS, message_of, raw_batch

BODY = b"{}"
FULL = message_of(
    BODY,
    content_type="application/json",
    device_type="tank",
    firmware="2.3.1",
    start_millis=5,
    end_millis=ARRIVAL_MILLIS,
    via="gateway-1",
    attributes='{"site":"Ulm"}',
    slow_tries=1,
)
VALUES = st.one_of(
    st.none(),
    st.sampled_from([b"", b"1", b"0", b"-1", b"01", b"-0", b"1.0", b"2", b"standard", b"gps"]),
    st.sampled_from([b"gps\n", b"/devices/d", b"9" * 18, b"9" * 19, b"\xff", "ü".encode()]),
    st.sampled_from([b"1" + b"ab" * 16, b"1" + b"AB" * 16]),
)
NAMES = st.sampled_from([name for name, _ in headers_of(FULL)] + ["CE_ID", "x", "ce_dataref"])


@st.composite
def changed_headers(draw: st.DrawFn) -> list[Header]:
    """Headers of a message, some of them replaced, gone, repeated or new."""
    headers: list[Header] = headers_of(draw(st.sampled_from([FULL, message_of(BODY)])))
    for _ in range(draw(st.integers(0, 2))):
        name = draw(NAMES)
        if draw(st.booleans()):
            headers = [header for header in headers if header[0] != name]
        if draw(st.booleans()):
            headers.append((name, draw(VALUES)))
    return headers


def read(records: Sequence[tuple[list[Header], bytes | None]]) -> FastPathMessages:
    rows = (RawRecord(b"k", body, headers, "raw.standard", 0, 1) for headers, body in records)
    return fast_path_messages(raw_batch(rows))


@given(st.lists(st.tuples(changed_headers(), st.sampled_from([BODY, b"", None])), max_size=6))
def test_what_is_plain_is_read_as_it_is_alone(
    records: list[tuple[list[Header], bytes | None]],
) -> None:
    fast = read(records)

    rows = [row for row, is_fast in enumerate(fast.is_fast) if is_fast]
    alone = {row: message_from(*records[row]) for row in rows}

    for row, message in alone.items():
        assert fast.envelopes[row].as_py().decode() == envelope_of(message).decode()
        assert fast.device_ids[row].as_py() == message.device_id.encode()
        assert int(fast.columns[ce.ATTEMPT][row].as_py()) == message.attempt


@given(st.lists(changed_headers(), max_size=6))
def test_messages_of_one_kind_have_stream_device_type_and_firmware_in_common(
    headers: list[list[Header]],
) -> None:
    fast = read([(one, BODY) for one in headers])

    kinds = [[message_from(headers[row], BODY) for row in rows] for rows in fast.kinds(dict)]

    assert sum(map(len, kinds)) == fast.is_fast.sum()
    found = [{(one.stream, one.device_type, one.firmware) for one in kind} for kind in kinds]
    assert [len(kind) for kind in found] == [1] * len(found)
    assert len(set.union(set(), *found)) == len(found)


@pytest.mark.parametrize("message", [FULL, message_of(BODY)], ids=["full", "least"])
def test_a_message_as_ingest_writes_it_is_plain(message: Message) -> None:
    fast = read([(headers_of(message), message.body)])

    assert fast.is_fast.tolist() == [True]


@pytest.mark.parametrize(
    "header",
    [("ce_bodyencoding", b"gzip"), ("x-new", b"1"), ("ce_attempt", b"1"), ("ce_revision", b"1")],
)
def test_what_is_encoded_unknown_repeated_or_revised_is_not_plain(header: Header) -> None:
    fast = read([([*headers_of(FULL), header], BODY), (headers_of(FULL), BODY)])

    assert fast.is_fast.tolist() == [False, True]


def test_a_body_of_another_size_than_declared_is_not_plain() -> None:
    fast = read([(headers_of(FULL), BODY + b" ")])

    with pytest.raises(BadEnvelopeError):
        message_from(headers_of(FULL), BODY + b" ")
    assert not fast.is_fast.any()
