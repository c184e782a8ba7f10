"""An object that S3 never gives holds up nobody in the slow lane; an outage of S3 still waits."""

from collections import Counter

import pyarrow as pa

from fleetlane.events.envelope_reading import message_from
from fleetlane.events.lanes import LANE_LIMITS, Lane
from fleetlane.events.metadata import Deferral, Outcome, parsed_from
from glue_jobs.parse_lane.parse import spaced_tries
from glue_jobs.parse_lane.reading.raw_batches import RawRecord
from glue_jobs.parse_lane.results.output_batches import OutputRecord
from tests.unit.glue_jobs.conftest import NOW_MS, MemoryBucket, raw_batch, rows_of
from tests.unit.glue_jobs.test_lane_parser import Lanes, record_by_reference

TRIGGER_MS = LANE_LIMITS[Lane.SLOW].trigger_ms
SICK = "payloads/0"


def records_of(payload_bucket: MemoryBucket, count: int) -> list[RawRecord]:
    """Messages by reference; S3 does not give the body of the first one."""
    payload_bucket.objects |= {f"payloads/{number}": b"{}" for number in range(count)}
    payload_bucket.unreachable.add(SICK)
    return [record_by_reference(b"{}", key=f"payloads/{number}") for number in range(count)]


def as_raw(row: OutputRecord) -> RawRecord:
    return RawRecord(row.key, row.value, list(row.headers or ()), row.topic, 0, 1)


def test_messages_behind_one_that_s3_does_not_give_are_parsed(
    lane_parser: Lanes, payload_bucket: MemoryBucket
) -> None:
    records = records_of(payload_bucket, 20)

    rows = rows_of(lane_parser(Lane.SLOW).outputs_of(raw_batch(records)))

    told = [parsed_from(row.value or b"") for row in rows if row.topic == "fleet.parsed"]
    assert Counter((one.outcome, one.put_off) for one in told) == {
        (Outcome.PARSED, None): 19,
        (Outcome.DIVERTED, Deferral.PAYLOAD_UNAVAILABLE): 1,
    }


def test_one_that_s3_does_not_give_fails_no_batch_even_where_it_is_alone(
    lane_parser: Lanes, payload_bucket: MemoryBucket
) -> None:
    records = records_of(payload_bucket, 1)

    put_off, _ = rows_of(lane_parser(Lane.SLOW).outputs_of(raw_batch(records)))

    assert (put_off.topic, put_off.key, put_off.value) == ("raw.slow", records[0].key, None)


def test_however_often_it_is_deferred_it_is_one_attempt_and_no_try(
    lane_parser: Lanes, payload_bucket: MemoryBucket
) -> None:
    (record,) = records_of(payload_bucket, 1)
    slow_lane = lane_parser(Lane.SLOW)

    for _ in range(5):
        put_off, _ = rows_of(slow_lane.outputs_of(raw_batch([record])))
        record = as_raw(put_off)

    again = message_from(record.headers, record.value)
    assert (again.attempt, again.slow_tries) == (2, 0)


def test_it_comes_again_a_trigger_later(lane_parser: Lanes, payload_bucket: MemoryBucket) -> None:
    records, waited_s = records_of(payload_bucket, 1), list[float]()
    put_off, _ = rows_of(lane_parser(Lane.SLOW).outputs_of(raw_batch(records)))
    header = pa.struct([("key", pa.string()), ("value", pa.binary())])
    headers = [{"key": name, "value": value} for name, value in put_off.headers or ()]
    batch = pa.RecordBatch.from_arrays(
        [pa.array([headers], pa.list_(header)), pa.array([NOW_MS], pa.timestamp("ms", tz="UTC"))],
        names=["headers", "timestamp"],
    )

    list(spaced_tries([batch], apart_ms=TRIGGER_MS, now_ms=lambda: NOW_MS, sleep=waited_s.append))

    assert waited_s == [TRIGGER_MS / 1000]


def test_once_its_time_to_live_ended_it_is_parked_as_missing(
    lane_parser: Lanes, payload_bucket: MemoryBucket
) -> None:
    slow_lane, records = lane_parser(Lane.SLOW), records_of(payload_bucket, 1)
    put_off, _ = rows_of(slow_lane.outputs_of(raw_batch(records)))
    payload_bucket.unreachable.clear()
    payload_bucket.objects.clear()

    parked, told = rows_of(slow_lane.outputs_of(raw_batch([as_raw(put_off)])))

    assert parked.topic == "parked"
    assert parsed_from(told.value or b"").reason == "payload_missing"
