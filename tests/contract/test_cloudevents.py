"""What we write is read by the official CloudEvents SDK, as any consumer of a topic would."""

import json
from copy import replace
from datetime import UTC, datetime

import pytest
from cloudevents.core.base import BaseCloudEvent
from cloudevents.core.bindings.kafka import (
    KafkaMessage,
    from_binary_event,
    from_kafka_event,
    to_binary_event,
)
from cloudevents.core.v1.event import CloudEvent
from hypothesis import given
from hypothesis import strategies as st

from fleetlane.events.canonical import (
    CANONICAL_CONTENT_TYPE,
    EventTime,
    TimeQuality,
    event_data,
    message_prefix,
)
from fleetlane.events.envelope import KafkaPosition, Message, Parking, headers_of, parked_headers
from fleetlane.events.envelope_reading import message_from
from fleetlane.events.errors import ParkedReason
from fleetlane.events.topics import raw_key
from tests.canonical_value import canonical_value
from tests.unit.events.json_values import json_objects
from tests.unit.events.messages import ARRIVAL_MILLIS, FULL, PLAIN, RAW_ID, SHA256

ARRIVAL = datetime(2026, 11, 3, 14, 5, 9, 123_000, tzinfo=UTC)
EVENT_TIME = EventTime(millis=1_000, quality=TimeQuality.OK, bucket_millis=1_000)
BY_REFERENCE = replace(FULL, other_headers=())
BODIES = [b"\x00\xff\xfe", b'{"a":1}', b'{"a":', b"text", b"null", b"\xef\xbb\xbf{}"]


def record_of(message: Message) -> KafkaMessage:
    """The record that a message lands as; its value is null by reference."""
    headers = {name: value for name, value in headers_of(message) if value is not None}
    return KafkaMessage(
        headers=headers, key=raw_key(message.arrival_millis), value=message.body or b""
    )


def canonical_record(data: bytes, *, time: EventTime = EVENT_TIME) -> KafkaMessage:
    prefix = message_prefix(replace(PLAIN, revision=3), parser="acme-thermo@1.2.0")
    value = canonical_value(prefix, event_id=f"{RAW_ID}-0", time=time, data=data)
    return KafkaMessage(
        headers={"content-type": CANONICAL_CONTENT_TYPE.encode()}, key=b"d-17", value=value
    )


def test_the_sdk_reads_a_raw_records_attributes() -> None:
    event = from_kafka_event(record_of(replace(PLAIN, content_type="text/csv")))

    assert event.get_attributes() == {
        "specversion": "1.0",
        "datacontenttype": "text/csv",
        "id": RAW_ID,
        "source": "/devices/d-17",
        "type": "thermo",
        "time": ARRIVAL,
        "arrivalmillis": str(ARRIVAL_MILLIS),
        "lane": "standard",
        "attempt": "1",
        "bodybytes": "2",
        "partitionkey": str(ARRIVAL_MILLIS),
    }


def test_the_sdk_reads_every_optional_attribute_of_a_raw_record() -> None:
    event = from_kafka_event(record_of(BY_REFERENCE))

    read = {name: event.get_extension(name) for name in event.get_attributes()}
    assert {
        "attempt": "2",
        "slowtries": "1",
        "devicetype": "acme-t1",
        "firmware": "2.1.0",
        "attributes": '{"line":"3","site":"Ulm"}',
        "startmillis": "-5",
        "endmillis": "7",
        "bodyencoding": "gzip",
        "bodybytes": "300000",
        "dataref": "2026/11/03/x",
        "datasha256": SHA256,
        "truncatedfrom": "400000",
        "via": "gw.3",
    }.items() <= read.items()


@pytest.mark.parametrize("content_type", ["application/octet-stream", "application/json"])
@pytest.mark.parametrize("body", BODIES)
def test_the_records_value_is_the_body_byte_for_byte(body: bytes, content_type: str) -> None:
    message = replace(PLAIN, body=body, body_bytes=len(body), content_type=content_type)
    record = record_of(message)

    event = from_binary_event(record)

    assert event.get_id() == message.raw_id
    assert record.value == body


def test_the_sdk_reads_an_empty_body_and_a_reference_as_no_data() -> None:
    empty = from_kafka_event(record_of(replace(PLAIN, body=b"", body_bytes=0)))
    referenced = from_kafka_event(record_of(BY_REFERENCE))

    assert (empty.get_data(), referenced.get_data()) == (None, None)


def test_the_sdk_reads_why_a_record_is_parked() -> None:
    parking = Parking(
        reason=ParkedReason.MALFORMED,
        detail="7 bytes",
        position=KafkaPosition(topic="raw.fast", partition=3, offset=42),
        parser="acme-thermo@1.2.0",
        parked_millis=ARRIVAL_MILLIS,
    )
    headers = parked_headers(headers_of(PLAIN), parking)
    known = {name: value for name, value in headers if value is not None}

    event = from_kafka_event(KafkaMessage(headers=known, key=None, value=b""))

    read = {name: event.get_extension(name) for name in event.get_attributes()}
    assert {
        "parkedreason": "malformed",
        "parkeddetail": "7 bytes",
        "parkedfrom": "raw.fast/3/42",
        "parkedparser": "acme-thermo@1.2.0",
        "parkedat": "2026-11-03T14:05:09.123Z",
    }.items() <= read.items()


def test_we_read_a_raw_record_that_the_sdk_wrote() -> None:
    attributes = {
        "specversion": "1.0",
        "id": RAW_ID,
        "source": "/devices/d-17",
        "type": "thermo",
        "time": ARRIVAL,
        "datacontenttype": "application/octet-stream",
        "arrivalmillis": str(ARRIVAL_MILLIS),
        "lane": "standard",
        "attempt": "1",
        "bodybytes": "2",
    }

    record = to_binary_event(CloudEvent(attributes=attributes, data=PLAIN.body))

    assert message_from(record.headers.items(), record.value) == PLAIN


def test_the_sdk_reads_a_canonical_record() -> None:
    event = from_kafka_event(canonical_record(event_data({"celsius": 21.5, "at": None})))

    assert event.get_attributes() == {
        "specversion": "1.0",
        "id": f"{RAW_ID}-0",
        "source": "/devices/d-17",
        "type": "thermo",
        "datacontenttype": "application/json",
        "time": datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC),
        "rawid": RAW_ID,
        "arrivalmillis": str(ARRIVAL_MILLIS),
        "parser": "acme-thermo@1.2.0",
        "revision": 3,
        "timequality": "ok",
        "partitionkey": "d-17",
    }


@given(json_objects)
def test_the_sdk_reads_a_canonical_records_data(data: dict[str, object]) -> None:
    event = from_kafka_event(canonical_record(event_data(data)))

    assert event.get_data() == data


def test_the_sdk_reads_of_an_event_without_a_time_that_it_is_missing() -> None:
    missing = EventTime(millis=None, quality=TimeQuality.MISSING, bucket_millis=0)

    event = from_kafka_event(canonical_record(b"{}", time=missing))

    assert event.get_extension("timequality") == "missing"  # the SDK puts its own clock into time


@given(st.integers(-62_135_596_800_000, 253_402_300_799_999))
def test_the_sdk_reads_every_time_to_the_millisecond(millis: int) -> None:
    time = EventTime(millis=millis, quality=TimeQuality.OK, bucket_millis=millis)

    event: BaseCloudEvent = from_kafka_event(canonical_record(b"{}", time=time))

    read = event.get_time()
    assert read is not None
    assert round((read - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() * 1000) == millis


def test_a_canonical_record_is_one_json_object() -> None:
    record = canonical_record(event_data({"a": '"}'}))

    assert json.loads(record.value)["data"] == {"a": '"}'}
