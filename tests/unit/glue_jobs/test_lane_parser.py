"""What becomes of a raw record: each outcome, and what is written for it."""

import gzip
from collections import Counter
from collections.abc import Callable
from hashlib import sha256

import pytest

from clients.s3.payload_bucket import PayloadUnavailableError
from fleetlane.events.canonical import TimeQuality, canonical_event_from
from fleetlane.events.envelope import Header, PayloadReference
from fleetlane.events.envelope_reading import message_from
from fleetlane.events.lanes import PAYLOAD_BYTES_MAX, Lane
from fleetlane.events.metadata import parsed_from
from fleetlane.events.topics import PARKED_INLINE_BYTES_MAX, REROUTED_BYTES_MAX
from glue_jobs.parse_lane.lane_parser import LaneParser
from glue_jobs.parse_lane.reading.raw_batches import RawRecord
from tests.unit.glue_jobs.conftest import (
    ARRIVAL_MILLIS,
    NOW_MS,
    RAW_ID,
    MemoryBucket,
    message_of,
    raw_batch,
    record_of,
    rows_of,
)

type Lanes = Callable[[Lane], LaneParser]

BODY = b'[{"at": %d, "lat": 1.5}, {"at": %d, "kind": "alarm"}]' % (ARRIVAL_MILLIS, ARRIVAL_MILLIS)


def test_every_event_becomes_a_canonical_record_in_its_stream_s_topic(lane_parser: Lanes) -> None:
    first, second, _ = rows_of(
        lane_parser(Lane.STANDARD).outputs_of(raw_batch([record_of(message_of(BODY))]))
    )

    event = canonical_event_from(first.value or b"")

    assert (first.topic, second.topic) == ("canonical.gps", "canonical.gps-alarms")
    assert (first.key, first.headers) == (b"d-17/2025-11-03T14", None)
    assert (event.id, event.rawid, event.timequality) == (f"{RAW_ID}-0", RAW_ID, TimeQuality.OK)
    assert event.data == {"at": ARRIVAL_MILLIS, "lat": 1.5}


def test_an_attempt_is_reported_to_the_fleet(lane_parser: Lanes) -> None:
    *_, told = rows_of(
        lane_parser(Lane.STANDARD).outputs_of(raw_batch([record_of(message_of(BODY))]))
    )

    parsed = parsed_from(told.value or b"")

    assert (told.topic, told.key) == ("fleet.parsed", b"d-17")
    assert (parsed.id, parsed.outcome, parsed.events, parsed.attempt) == (RAW_ID, "parsed", 2, 1)
    assert (parsed.source_topic, parsed.source_partition, parsed.source_offset) == (
        "raw.standard",
        1,
        42,
    )
    assert (parsed.first_event_ms, parsed.last_event_ms) == (ARRIVAL_MILLIS, ARRIVAL_MILLIS)
    assert parsed.parsed_ms == NOW_MS


@pytest.mark.parametrize("encoding", [None, "gzip"])
def test_the_bytes_of_its_events_are_counted_for_each_message(
    lane_parser: Lanes, encoding: str | None
) -> None:
    bodies = [BODY, b"[]", b"{nope", b'{"at": 1}', BODY]
    messages = [
        message_of(
            body if encoding is None else gzip.compress(body),
            body_encoding=encoding,
            raw_id=f"1{place:032x}",
        )
        for place, body in enumerate(bodies)
    ]

    rows = rows_of(lane_parser(Lane.STANDARD).outputs_of(raw_batch(map(record_of, messages))))

    told = [parsed_from(row.value or b"") for row in rows if row.topic == "fleet.parsed"]
    put_out = Counter[str]()
    for row in rows:
        if row.topic.startswith("canonical."):
            put_out[canonical_event_from(row.value or b"").rawid] += len(row.value or b"")
    assert {one.id: one.output_bytes for one in told} == {
        one.raw_id: put_out[one.raw_id] for one in messages
    }


def test_a_message_without_events_is_empty_and_neither_lost_nor_parked(lane_parser: Lanes) -> None:
    (told,) = rows_of(
        lane_parser(Lane.STANDARD).outputs_of(raw_batch([record_of(message_of(b"[]"))]))
    )

    assert parsed_from(told.value or b"").outcome == "empty"


def test_the_revision_of_a_replay_goes_into_its_events_and_its_row(lane_parser: Lanes) -> None:
    batch = [record_of(message_of(BODY, revision=2)), record_of(message_of(BODY))]

    rows = rows_of(lane_parser(Lane.SLOW).outputs_of(raw_batch(batch)))

    events = [canonical_event_from(row.value or b"") for row in rows if row.topic != "fleet.parsed"]
    told = [parsed_from(row.value or b"") for row in rows if row.topic == "fleet.parsed"]
    assert Counter(event.revision for event in events) == {0: 2, 2: 2}
    assert sorted(row.revision for row in told) == [0, 2]


@pytest.mark.parametrize(
    ("changes", "body", "reason", "detail"),
    [
        ({}, b"{nope", "malformed", "JSON"),
        ({"stream": "nobodys"}, b"{}", "no_flow", "'nobodys'"),
        ({}, b"[%b]" % b",".join([b"{}"] * 6), "too_many_events", "5 events"),
        ({}, b'{"text": "%b"}' % (b"x" * 200), "event_too_large", "100 bytes"),
    ],
    ids=["malformed", "no-flow", "too-many", "too-large"],
)
def test_what_can_never_be_parsed_is_parked_at_once_with_its_bytes(
    lane_parser: Lanes, changes: dict[str, object], body: bytes, reason: str, detail: str
) -> None:
    record = record_of(message_of(body, **changes))

    parked, told = rows_of(lane_parser(Lane.STANDARD).outputs_of(raw_batch([record])))

    headers = dict(parked.headers or ())
    assert (parked.topic, parked.key, parked.value) == ("parked", record.key, body)
    assert headers["ce_parkedreason"] == reason.encode()
    assert detail in (headers["ce_parkeddetail"] or b"").decode()
    assert headers["ce_parkedfrom"] == b"raw.standard/1/42"
    assert (parsed_from(told.value or b"").outcome, parsed_from(told.value or b"").reason) == (
        "parked",
        reason,
    )


def test_a_body_is_inflated_as_its_device_declared(lane_parser: Lanes) -> None:
    record = record_of(message_of(gzip.compress(BODY), body_encoding="gzip"))

    first, _, told = rows_of(lane_parser(Lane.STANDARD).outputs_of(raw_batch([record])))

    assert first.topic == "canonical.gps"
    assert parsed_from(told.value or b"").inflated_bytes == len(BODY)


@pytest.mark.parametrize(
    ("body", "reason"),
    [(b"no gzip", b"malformed"), (gzip.compress(bytes(PAYLOAD_BYTES_MAX + 1)), b"too_large")],
    ids=["not-gzip", "bomb"],
)
def test_a_body_that_cannot_be_inflated_is_parked_as_it_came(
    lane_parser: Lanes, body: bytes, reason: bytes
) -> None:
    record = record_of(message_of(body, body_encoding="gzip"))

    parked, _ = rows_of(lane_parser(Lane.BULK).outputs_of(raw_batch([record])))

    assert (parked.value, dict(parked.headers or ())["ce_parkedreason"]) == (body, reason)


def test_a_parser_that_fails_sends_the_message_to_the_slow_lane(lane_parser: Lanes) -> None:
    record = record_of(message_of(b"{}", device_type="future-thing"))

    diverted, told = rows_of(lane_parser(Lane.STANDARD).outputs_of(raw_batch([record])))

    again = message_from(diverted.headers or (), diverted.value)
    assert (diverted.topic, diverted.key, diverted.value) == ("raw.slow", record.key, b"{}")
    assert (again.attempt, again.slow_tries, again.raw_id) == (2, 0, RAW_ID)
    assert parsed_from(told.value or b"").outcome == "diverted"


def test_the_slow_lane_tries_three_times_and_then_parks(lane_parser: Lanes) -> None:
    slow, record = lane_parser(Lane.SLOW), record_of(message_of(b"{}", device_type="future-thing"))

    topics = []
    for _ in range(3):
        output, _told = rows_of(slow.outputs_of(raw_batch([record])))
        topics.append(output.topic)
        record = RawRecord(output.key, output.value, output.headers or [], "raw.slow", 0, 1)

    assert topics == ["raw.slow", "raw.slow", "parked"]
    assert dict(record.headers)["ce_parkedreason"] == b"parser_failed"


def test_a_record_that_is_no_message_is_parked_as_it_is(lane_parser: Lanes) -> None:
    record = RawRecord(b"k", b"bytes", [("x", None), ("ce_id", b"?")], "raw.fast", 0, 7)

    (parked,) = rows_of(lane_parser(Lane.FAST).outputs_of(raw_batch([record])))

    assert (parked.topic, parked.key, parked.value) == ("parked", b"k", b"bytes")
    assert (parked.headers or [])[:2] == record.headers
    assert dict(parked.headers or ())["ce_parkedreason"] == b"bad_envelope"


def test_a_message_s_large_body_is_parked_by_reference_and_read_from_there(
    lane_parser: Lanes, parked_bucket: MemoryBucket
) -> None:
    small, large = (b"x" * (PARKED_INLINE_BYTES_MAX + more) for more in (0, 1))
    records = [record_of(message_of(body, stream="nobodys")) for body in (small, large)]

    inline, by_reference = (
        one
        for one in rows_of(lane_parser(Lane.STANDARD).outputs_of(raw_batch(records)))
        if one.topic == "parked"
    )

    assert inline.value == small
    message = message_from(by_reference.headers or (), by_reference.value)
    assert message.reference is not None
    assert (message.body, message.body_bytes) == (None, len(large))
    assert message.reference.sha256 == sha256(large).hexdigest()
    assert parked_bucket.get(message.reference, body_bytes=len(large), bytes_max=1 << 20) == large


def test_a_parked_record_too_large_for_its_topic_is_kept_by_reference(
    lane_parser: Lanes, parked_bucket: MemoryBucket
) -> None:
    body = b"x" * (REROUTED_BYTES_MAX + 1)

    (parked,) = rows_of(
        lane_parser(Lane.FAST).outputs_of(raw_batch([RawRecord(b"k", body, [], "raw.fast", 0, 7)]))
    )

    key = dict(parked.headers or ())["ce_dataref"] or b""
    assert parked.value is None
    assert parked_bucket.objects[key.decode()] == body


def test_a_parked_record_whose_headers_alone_are_too_large_can_still_be_written(
    lane_parser: Lanes,
) -> None:
    headers: list[Header] = [("x", b"y" * 1000)] * 2000

    (parked,) = rows_of(
        lane_parser(Lane.FAST).outputs_of(
            raw_batch([RawRecord(b"k", b"", headers, "raw.fast", 0, 7)])
        )
    )

    assert sum(len(name) + len(value or b"") for name, value in parked.headers or ()) < 200_000
    assert dict(parked.headers or ())["ce_parkedreason"] == b"bad_envelope"


def record_by_reference(body: bytes, *, key: str = "payloads/x", **changes: object) -> RawRecord:
    reference = PayloadReference(key=key, sha256=sha256(body).hexdigest())
    message = message_of(None, reference=reference, body_bytes=len(body), **changes)
    return record_of(message, topic="raw.slow")


def test_a_payload_by_reference_is_fetched_and_parsed(
    lane_parser: Lanes, payload_bucket: MemoryBucket
) -> None:
    payload_bucket.objects["payloads/x"] = BODY

    first, _, told = rows_of(
        lane_parser(Lane.SLOW).outputs_of(raw_batch([record_by_reference(BODY)]))
    )

    assert first.topic == "canonical.gps"
    assert parsed_from(told.value or b"").inflated_bytes == len(BODY)


def test_a_payload_that_is_gone_is_parked_as_missing(lane_parser: Lanes) -> None:
    parked, _ = rows_of(lane_parser(Lane.SLOW).outputs_of(raw_batch([record_by_reference(BODY)])))

    assert dict(parked.headers or ())["ce_parkedreason"] == b"payload_missing"


def test_a_payload_that_was_altered_is_parked_as_corrupt(
    lane_parser: Lanes, payload_bucket: MemoryBucket
) -> None:
    payload_bucket.objects["payloads/x"] = BODY[::-1]

    parked, _ = rows_of(lane_parser(Lane.SLOW).outputs_of(raw_batch([record_by_reference(BODY)])))

    assert dict(parked.headers or ())["ce_parkedreason"] == b"payload_corrupt"


def test_parking_a_reference_copies_its_payload_to_where_nothing_expires(
    lane_parser: Lanes, payload_bucket: MemoryBucket, parked_bucket: MemoryBucket
) -> None:
    payload_bucket.objects["payloads/x"] = b"{nope"

    parked, _ = rows_of(
        lane_parser(Lane.SLOW).outputs_of(raw_batch([record_by_reference(b"{nope")]))
    )

    headers = dict(parked.headers or ())
    assert headers["ce_dataref"] == b"parked/payloads/x"
    assert parked_bucket.objects == {"parked/payloads/x": b"{nope"}


def test_a_payload_that_cannot_be_reached_goes_to_the_slow_lane(
    lane_parser: Lanes, payload_bucket: MemoryBucket
) -> None:
    payload_bucket.is_down = True

    diverted, told = rows_of(
        lane_parser(Lane.STANDARD).outputs_of(raw_batch([record_by_reference(BODY)]))
    )

    assert diverted.topic == "raw.slow"
    assert parsed_from(told.value or b"").reason is None


def test_an_outage_of_s3_in_the_slow_lane_fails_the_batch_and_parks_nothing(
    lane_parser: Lanes, payload_bucket: MemoryBucket
) -> None:
    payload_bucket.is_down = True

    with pytest.raises(PayloadUnavailableError):
        rows_of(lane_parser(Lane.SLOW).outputs_of(raw_batch([record_by_reference(BODY)])))
