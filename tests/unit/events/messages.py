"""Messages for the tests of this folder: one plain, one with every field, and any at all."""

from hypothesis import strategies as st

from fleetlane.events.attributes import (
    ATTRIBUTE_PATTERN,
    ATTRIBUTES_MAX,
    RESERVED,
    VALUE_PATTERN,
    attributes_text,
)
from fleetlane.events.envelope import REVISION_MAX, Header, Message, PayloadReference
from fleetlane.events.lanes import Lane
from fleetlane.events.times import MILLIS_MAX

ARRIVAL_MILLIS = 1_793_714_709_123
"""2026-11-03T14:05:09.123Z"""
RAW_ID = "1" + "ab" * 16
SHA256 = "0f" * 32

PLAIN = Message(
    raw_id=RAW_ID,
    device_id="d-17",
    stream="thermo",
    arrival_millis=ARRIVAL_MILLIS,
    lane=Lane.STANDARD,
    body=b"\x00\xff",
    body_bytes=2,
)

FULL = Message(
    raw_id=RAW_ID,
    device_id="d-17",
    stream="thermo",
    arrival_millis=ARRIVAL_MILLIS,
    lane=Lane.SLOW,
    body=None,
    body_bytes=300_000,
    reference=PayloadReference(key="2026/11/03/x", sha256=SHA256),
    content_type="text/csv; charset=utf-8",
    attempt=2,
    slow_tries=1,
    revision=3,
    device_type="acme-t1",
    firmware="2.1.0",
    attributes='{"line":"3","site":"Ulm"}',
    start_millis=-5,
    end_millis=7,
    body_encoding="gzip",
    truncated_from_bytes=400_000,
    via="gw.3",
    other_headers=(("traceparent", b"00-1"), ("X", None), ("X", b""), ("x", b"\xff\x00")),
)

names = st.from_regex(r"[a-z][a-z0-9-]{0,47}", fullmatch=True)
device_ids = st.from_regex(r"[A-Za-z0-9._-]{1,64}", fullmatch=True)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
attributes = st.dictionaries(
    st.from_regex(ATTRIBUTE_PATTERN, fullmatch=True).filter(lambda name: name not in RESERVED),
    st.from_regex(VALUE_PATTERN, fullmatch=True),
    max_size=ATTRIBUTES_MAX,
)
counts = st.integers(0, 10**18 - 1)
moments = st.integers(-(10**18) + 1, 10**18 - 1)
other_headers: st.SearchStrategy[list[Header]] = st.lists(
    st.tuples(
        texts.filter(lambda name: not name.lower().startswith(("ce_", "content-type"))),
        st.none() | st.binary(max_size=20),
    ),
    max_size=4,
)


@st.composite
def messages(draw: st.DrawFn) -> Message:
    reference = draw(
        st.none()
        | st.builds(
            PayloadReference, key=texts, sha256=st.from_regex("[0-9a-f]{64}", fullmatch=True)
        )
    )
    body = None if reference else draw(st.binary(max_size=50))
    return Message(
        raw_id=draw(st.from_regex("1[0-9a-f]{32}", fullmatch=True)),
        device_id=draw(device_ids),
        stream=draw(names),
        arrival_millis=draw(st.integers(0, MILLIS_MAX)),
        lane=draw(st.sampled_from(Lane)),
        body=body,
        body_bytes=draw(counts) if body is None else len(body),
        reference=reference,
        content_type=draw(texts.filter(bool)),
        attempt=draw(st.integers(1, 10**18 - 1)),
        slow_tries=draw(counts),
        revision=draw(st.integers(0, REVISION_MAX)),
        device_type=draw(st.none() | names),
        firmware=draw(st.none() | texts),
        attributes=draw(attributes.map(attributes_text)),
        start_millis=draw(st.none() | moments),
        end_millis=draw(st.none() | moments),
        body_encoding=draw(st.none() | texts),
        truncated_from_bytes=draw(st.none() | counts),
        via=draw(st.none() | device_ids),
        other_headers=tuple(draw(other_headers)),
    )
