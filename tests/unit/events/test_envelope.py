import re
from copy import replace

from hypothesis import given

from fleetlane.events.envelope import Message, headers_of
from fleetlane.events.envelope_reading import message_from
from tests.unit.events.messages import ARRIVAL_MILLIS, FULL, PLAIN, RAW_ID, SHA256, messages


def test_a_plain_messages_headers_are_the_designs_in_order() -> None:
    assert headers_of(PLAIN) == [
        ("ce_specversion", b"1.0"),
        ("content-type", b"application/octet-stream"),
        ("ce_id", RAW_ID.encode()),
        ("ce_source", b"/devices/d-17"),
        ("ce_type", b"thermo"),
        ("ce_time", b"2026-11-03T14:05:09.123Z"),
        ("ce_arrivalmillis", str(ARRIVAL_MILLIS).encode()),
        ("ce_lane", b"standard"),
        ("ce_attempt", b"1"),
        ("ce_bodybytes", b"2"),
    ]


def test_every_optional_field_has_its_header() -> None:
    headers = dict(headers_of(replace(FULL, other_headers=())))

    assert headers == {
        "ce_specversion": b"1.0",
        "content-type": b"text/csv; charset=utf-8",
        "ce_id": RAW_ID.encode(),
        "ce_source": b"/devices/d-17",
        "ce_type": b"thermo",
        "ce_time": b"2026-11-03T14:05:09.123Z",
        "ce_arrivalmillis": str(ARRIVAL_MILLIS).encode(),
        "ce_lane": b"slow",
        "ce_attempt": b"2",
        "ce_slowtries": b"1",
        "ce_revision": b"3",
        "ce_devicetype": b"acme-t1",
        "ce_firmware": b"2.1.0",
        "ce_attributes": b'{"line":"3","site":"Ulm"}',
        "ce_startmillis": b"-5",
        "ce_endmillis": b"7",
        "ce_bodyencoding": b"gzip",
        "ce_bodybytes": b"300000",
        "ce_dataref": b"2026/11/03/x",
        "ce_datasha256": SHA256.encode(),
        "ce_truncatedfrom": b"400000",
        "ce_via": b"gw.3",
    }


def test_attribute_names_are_as_cloudevents_wants_them() -> None:
    names = [name.removeprefix("ce_") for name, _ in headers_of(FULL) if name.startswith("ce_")]

    assert all(re.fullmatch("[a-z0-9]{1,20}", name) for name in names)


def test_unknown_headers_stand_last_as_they_came() -> None:
    assert headers_of(FULL)[-4:] == list(FULL.other_headers)


@given(messages())
def test_a_written_message_reads_back_equal(message: Message) -> None:
    assert message_from(headers_of(message), message.body) == message


@given(messages())
def test_a_read_message_is_written_with_the_same_headers(message: Message) -> None:
    written = headers_of(message)

    assert headers_of(message_from(written, message.body)) == written
