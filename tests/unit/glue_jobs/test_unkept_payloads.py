"""A message that cannot be parked, because S3 does not keep its bytes, waits and fails no batch."""

import time
from collections import Counter

import pytest

from clients.s3.payload_bucket import PayloadUnavailableError
from fleetlane.events.envelope import Header, PayloadReference
from fleetlane.events.envelope_reading import message_from
from fleetlane.events.lanes import LANE_LIMITS, Lane
from fleetlane.events.metadata import Deferral, Outcome, parsed_from
from fleetlane.events.topics import PARKED_INLINE_BYTES_MAX, REROUTED_BYTES_MAX
from fleetlane.parsers.sandbox.platforms import ParsesRuns
from glue_jobs.parse_lane.budgets import FlowBudgets
from glue_jobs.parse_lane.lane_parser import LaneParser
from glue_jobs.parse_lane.parsers.choices import ChosenParser
from glue_jobs.parse_lane.reading.payloads import Payloads
from glue_jobs.parse_lane.reading.raw_batches import RawRecord
from glue_jobs.parse_lane.results.output_batches import OutputRecord
from tests.unit.glue_jobs.conftest import (
    FLOW,
    NOW_MS,
    FixedFlows,
    MemoryBucket,
    chosen_parsers,
    message_of,
    raw_batch,
    record_of,
    rows_of,
)
from tests.unit.glue_jobs.test_lane_parser import Lanes, record_by_reference

MALFORMED = b"{nope"
LARGE_HEADERS: list[Header] = [("x", b"x" * REROUTED_BYTES_MAX)]
FOREIGN = RawRecord(b"k", b"no message", LARGE_HEADERS, "raw.slow", 0, 1)


@pytest.fixture(autouse=True)
def nothing_is_kept(payload_bucket: MemoryBucket, parked_bucket: MemoryBucket) -> None:
    """The bucket of what is parked does not answer; the other one does."""
    payload_bucket.objects |= {"payloads/bad": MALFORMED, "payloads/good": b"{}"}
    parked_bucket.is_down = True


def bad_record() -> RawRecord:
    return record_by_reference(MALFORMED, key="payloads/bad")


def as_raw(row: OutputRecord) -> RawRecord:
    return RawRecord(row.key, row.value, list(row.headers or ()), row.topic, 0, 1)


@pytest.mark.parametrize("lane", Lane)
def test_a_message_that_cannot_be_copied_is_deferred_and_the_others_are_parsed(
    lane_parser: Lanes, lane: Lane
) -> None:
    good = record_by_reference(b"{}", key="payloads/good")

    rows = rows_of(
        lane_parser(lane).outputs_of(raw_batch([bad_record(), good, record_of(message_of(b"{}"))]))
    )

    told = [parsed_from(row.value or b"") for row in rows if row.topic == "fleet.parsed"]
    assert Counter((one.outcome, one.put_off, one.reason) for one in told) == {
        (Outcome.PARSED, None, None): 2,
        (Outcome.DIVERTED, Deferral.PAYLOAD_UNAVAILABLE, None): 1,
    }
    assert not [row for row in rows if row.topic == "parked"]


def test_it_is_parked_for_its_reason_once_s3_keeps_it(
    lane_parser: Lanes, parked_bucket: MemoryBucket
) -> None:
    slow_lane, record = lane_parser(Lane.SLOW), bad_record()
    for _ in range(5):
        slow_lane.begin_batch()
        deferred, _ = rows_of(slow_lane.outputs_of(raw_batch([record])))
        record = as_raw(deferred)
    again = message_from(record.headers, record.value)

    parked_bucket.is_down = False
    slow_lane.begin_batch()
    parked, told = rows_of(slow_lane.outputs_of(raw_batch([record])))

    assert (again.attempt, again.slow_tries) == (2, 0)
    assert (parked.topic, parsed_from(told.value or b"").reason) == ("parked", "malformed")
    assert parked_bucket.objects == {"parked/payloads/bad": MALFORMED}


def test_where_no_bucket_answers_the_slow_lane_s_batch_fails(
    lane_parser: Lanes, payload_bucket: MemoryBucket
) -> None:
    record = record_of(message_of(MALFORMED, other_headers=tuple(LARGE_HEADERS)), topic="raw.slow")
    payload_bucket.is_down = True

    with pytest.raises(PayloadUnavailableError):
        rows_of(lane_parser(Lane.SLOW).outputs_of(raw_batch([record])))


class SlowBucket(MemoryBucket):
    """Takes a hundredth of a second, or more, to keep anything."""

    def put(self, key: str, body: bytes, sha256_hex: str) -> PayloadReference:
        time.sleep(0.01)
        return super().put(key, body, sha256_hex)


def test_a_flow_pays_for_the_time_that_others_wait_while_its_messages_are_parked(
    sandboxes: ParsesRuns,
) -> None:
    limits, bucket = LANE_LIMITS[Lane.STANDARD], SlowBucket()
    budgets = FlowBudgets(Lane.STANDARD, limits, monotonic=lambda: 0.0)
    parsers = chosen_parsers(FixedFlows(FLOW), sandboxes, limits)
    lane = LaneParser(
        budgets=budgets,
        parsers=parsers,
        payloads=Payloads(landed=bucket, parked=bucket, parked_bucket="parked"),
        sandboxes=sandboxes,
        now_ms=lambda: NOW_MS,
    )
    large = message_of(b"{nope" + b" " * PARKED_INLINE_BYTES_MAX)
    choice = parsers.chosen(large)
    assert isinstance(choice, ChosenParser)
    before_us = budgets.time.left_us(choice.assignment)

    rows_of(lane.outputs_of(raw_batch([record_of(large)] * 4)))

    assert len(bucket.objects) == 1
    assert before_us - budgets.time.left_us(choice.assignment) >= 4 * 9_000


def test_a_record_that_is_no_message_waits_in_the_slow_lane_as_it_came(lane_parser: Lanes) -> None:
    waiting, *_ = rows_of(lane_parser(Lane.STANDARD).outputs_of(raw_batch([FOREIGN])))

    assert as_raw(waiting)[:4] == FOREIGN[:4]


def test_a_batch_waits_for_a_few_copies_that_fail_and_not_for_each(
    lane_parser: Lanes, payload_bucket: MemoryBucket
) -> None:
    slow_lane = lane_parser(Lane.SLOW)
    slow_lane.begin_batch()

    rows = rows_of(slow_lane.outputs_of(raw_batch([bad_record()] * 20)))
    asked = payload_bucket.copies_asked
    slow_lane.begin_batch()
    rows_of(slow_lane.outputs_of(raw_batch([bad_record()])))

    assert Counter(row.topic for row in rows) == {"raw.slow": 20, "fleet.parsed": 20}
    assert (asked, payload_bucket.copies_asked) == (3, 4)


def test_a_topic_that_is_made_anew_reuses_no_key_of_a_body_that_was_kept() -> None:
    parked = MemoryBucket()
    payloads = Payloads(landed=MemoryBucket(), parked=parked, parked_bucket="parked")

    first = payloads.stored(b"first", name="raw.standard/0/3")
    payloads.stored(b"other", name="raw.standard/0/3")
    again = payloads.stored(b"first", name="raw.standard/0/3")

    assert sorted(parked.objects.values()) == [b"first", b"other"]
    assert again == first
