"""A blocking flow's message in a shared topic, where it landed while ingest knew no flows."""

import pytest

from fleetlane.events.envelope_reading import message_from
from fleetlane.events.lanes import LANE_LIMITS, BulkCause, Lane
from fleetlane.events.metadata import Deferral, Outcome, Parsed, parsed_from
from fleetlane.events.topics import RECORD_BYTES_MAX
from fleetlane.parsers.sandbox.platforms import ParsesRuns
from glue_jobs.parse_lane.budgets import FlowBudgets
from glue_jobs.parse_lane.lane_parser import LaneParser
from glue_jobs.parse_lane.reading.payloads import Payloads
from glue_jobs.parse_lane.results.output_batches import OutputRecord
from tests.unit.glue_jobs.blocking.conftest import BLOCKING, OTHER
from tests.unit.glue_jobs.conftest import (
    NOW_MS,
    RAW_ID,
    FixedFlows,
    MemoryBucket,
    chosen_parsers,
    message_of,
    raw_batch,
    record_of,
    rows_of,
)

SLOW = BLOCKING.replace('owner = "acme"', 'owner = "acme"\nlane = "slow"')
NEEDS_NEWER = BLOCKING + 'firmware = ">=3"\n'


def parser_in(sandboxes: ParsesRuns, lane: Lane, flows: FixedFlows) -> LaneParser:
    """As a lane's shared query has it."""
    bucket = MemoryBucket()
    return LaneParser(
        budgets=FlowBudgets(lane, LANE_LIMITS[lane]),
        parsers=chosen_parsers(flows, sandboxes, LANE_LIMITS[lane]),
        payloads=Payloads(landed=bucket, parked=bucket, parked_bucket="parked"),
        sandboxes=sandboxes,
        now_ms=lambda: NOW_MS,
    )


def rows_in(
    sandboxes: ParsesRuns,
    flow: str,
    *,
    lane: Lane = Lane.STANDARD,
    landed_in: Lane | None = None,
    body: bytes = b"{}",
    just_published: bool = False,
    **changes: object,
) -> list[OutputRecord]:
    """What a lane's shared query makes of a message of stream ``door``."""
    flows = FixedFlows(OTHER, just_published=[flow]) if just_published else FixedFlows(OTHER, flow)
    lane_parser = parser_in(sandboxes, lane, flows)
    message = message_of(body, stream="door", lane=landed_in or lane, **changes)
    return rows_of(lane_parser.outputs_of(raw_batch([record_of(message, topic=f"raw.{lane}")])))


def told_of(row: OutputRecord) -> Parsed:
    return parsed_from(row.value or b"")


@pytest.mark.parametrize("lane", Lane)
@pytest.mark.parametrize("body", [b"{}", b"{nope"], ids=["good", "bad"])
def test_it_goes_to_its_flow_s_own_topic_unparsed(
    sandboxes: ParsesRuns, lane: Lane, body: bytes
) -> None:
    moved, told = rows_in(sandboxes, BLOCKING, lane=lane, body=body)

    again = message_from(moved.headers or (), moved.value)
    assert (moved.topic, moved.value) == (f"raw.{lane}.block.door", body)
    assert (again.raw_id, again.attempt, again.slow_tries) == (RAW_ID, 2, 0)
    assert (told_of(told).outcome, told_of(told).put_off, told_of(told).reason) == (
        Outcome.DIVERTED,
        Deferral.FLOW_BLOCKS,
        None,
    )


def test_so_it_does_where_its_flow_has_no_parser_for_it(sandboxes: ParsesRuns) -> None:
    moved, _ = rows_in(sandboxes, NEEDS_NEWER)

    assert moved.topic == "raw.standard.block.door"


def test_so_it_does_where_its_flow_is_published_a_moment_ago(sandboxes: ParsesRuns) -> None:
    moved, _ = rows_in(sandboxes, BLOCKING, just_published=True)

    assert moved.topic == "raw.standard.block.door"


def test_it_goes_to_the_lane_that_its_flow_declares(sandboxes: ParsesRuns) -> None:
    moved, _ = rows_in(sandboxes, SLOW)

    assert moved.topic == "raw.slow.block.door"


def test_one_that_waited_in_the_slow_lane_goes_back_to_its_own(sandboxes: ParsesRuns) -> None:
    moved, _ = rows_in(sandboxes, BLOCKING, lane=Lane.SLOW, landed_in=Lane.STANDARD, attempt=2)

    assert moved.topic == "raw.standard.block.door"


def test_one_that_only_the_slow_lane_takes_goes_there(sandboxes: ParsesRuns) -> None:
    moved, _ = rows_in(sandboxes, BLOCKING, body=b"x" * RECORD_BYTES_MAX)

    assert moved.topic == "raw.slow.block.door"


def test_a_replay_is_parsed_apart_from_its_flow_s_order(sandboxes: ParsesRuns) -> None:
    rows = rows_in(sandboxes, BLOCKING, lane=Lane.BULK, bulk_cause=BulkCause.REPLAYED, attempt=2)

    assert [row.topic for row in rows] == ["canonical.door", "fleet.parsed"]


@pytest.mark.parametrize("first", [BulkCause.REPLAYED, BulkCause.LATE])
def test_so_it_is_among_messages_that_are_none(sandboxes: ParsesRuns, first: BulkCause) -> None:
    lane_parser = parser_in(sandboxes, Lane.SLOW, FixedFlows(OTHER, BLOCKING))
    lane_parser.by_column_min = 1
    causes = [first, BulkCause.REPLAYED, BulkCause.LATE]
    messages = [
        message_of(b"{}", stream="door", lane=Lane.BULK, bulk_cause=cause, attempt=2)
        for cause in causes
    ]

    rows = rows_of(lane_parser.outputs_of(raw_batch(map(record_of, messages))))

    outcomes = [told_of(row).outcome for row in rows if row.topic == "fleet.parsed"]
    assert outcomes.count(Outcome.PARSED) == causes.count(BulkCause.REPLAYED)
    assert outcomes.count(Outcome.DIVERTED) == causes.count(BulkCause.LATE)
