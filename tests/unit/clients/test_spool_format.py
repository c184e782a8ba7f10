import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clients.kafka.producer_record import ProducerRecord
from clients.s3.spool import SpoolUnreadableError, records_in, spooled_bytes

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
RECORDS = st.lists(
    st.builds(
        ProducerRecord,
        topic=TEXT,
        key=st.binary(max_size=40),
        value=st.none() | st.binary(max_size=400),
        headers=st.lists(st.tuples(TEXT, st.none() | st.binary(max_size=40)), max_size=20),
    ),
    max_size=8,
)
RECORD = ProducerRecord(topic="raw.fast", key=b"1", value=b"\x00\xff", headers=[("a", None)])


@given(RECORDS)
def test_any_records_come_back_as_they_were(records: list[ProducerRecord]) -> None:
    assert records_in(spooled_bytes(records), key="k") == records


@given(RECORDS, st.data())
def test_what_is_cut_short_is_unreadable(
    records: list[ProducerRecord], data: st.DataObject
) -> None:
    spooled = spooled_bytes(records)
    length = data.draw(st.integers(0, len(spooled) - 1))

    with pytest.raises(SpoolUnreadableError):
        records_in(spooled[:length], key="k")


@given(st.binary(max_size=200))
def test_any_other_bytes_are_unreadable_or_records(tail: bytes) -> None:
    try:
        records = records_in(b"fleetlane-spool/1\n" + tail, key="k")
    except SpoolUnreadableError:
        return

    assert all(isinstance(record, ProducerRecord) for record in records)


def test_the_format_is_as_documented() -> None:
    first_line, rest = spooled_bytes([RECORD]).split(b"\n", 1)

    assert first_line == b"fleetlane-spool/1"
    assert msgspec.msgpack.decode(rest) == [
        {"topic": "raw.fast", "key": b"1", "value": b"\x00\xff", "headers": [["a", None]]}
    ]


def test_fields_of_a_later_version_are_ignored() -> None:
    record: dict[str, object] = {"topic": "t", "key": b"", "value": None, "headers": []}
    record["priority"] = 1

    records = records_in(b"fleetlane-spool/1\n" + msgspec.msgpack.encode([record]), key="k")

    assert records == [ProducerRecord(topic="t", key=b"", value=None)]


def test_another_format_is_named() -> None:
    with pytest.raises(SpoolUnreadableError, match=r"spool/0/x.*b'fleetlane-spool/2'"):
        records_in(b"fleetlane-spool/2\nrest", key="spool/0/x")
