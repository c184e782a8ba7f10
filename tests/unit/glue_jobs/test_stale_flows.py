"""While S3 gives no flows, a message of a flow that is newer than those known waits for its own."""

import pytest

from clients.flows.store import CachedFlows, FlowsUnavailableError
from clients.s3.blocked_messages import BlockedMessages
from fleetlane.events.flows.files import PublishedFlows, flow_from_toml
from fleetlane.events.lanes import LANE_LIMITS, Lane
from fleetlane.events.metadata import Deferral, Outcome, parsed_from
from fleetlane.parsers.sandbox.platforms import ParsesRuns
from glue_jobs.parse_lane.budgets import FlowBudgets
from glue_jobs.parse_lane.halting import DeferredError, HaltOnError
from glue_jobs.parse_lane.lane_parser import LaneParser
from glue_jobs.parse_lane.parsers.chosen_parsers import ChosenParsers
from glue_jobs.parse_lane.parsers.programs import Programs
from glue_jobs.parse_lane.reading.payloads import Payloads
from tests.contract.aws_in_process import buckets
from tests.unit.glue_jobs.conftest import (
    FLOW,
    NOW_MS,
    MemoryBucket,
    NoArtifacts,
    message_of,
    raw_batch,
    record_of,
    rows_of,
)

OLD = PublishedFlows.of([flow_from_toml(FLOW, file="gps.toml")])
NEWER = 'stream = "door"\nowner = "acme"\n[[parsers]]\nuse = "json"\n'
NEW = PublishedFlows.of(flow_from_toml(toml, file="flow.toml") for toml in (FLOW, NEWER))
RECORD = record_of(message_of(b"{}", stream="door"), topic="raw.standard.block.door")


class Published:
    """The flows in S3, while it answers."""

    def __init__(self) -> None:
        self.flows: PublishedFlows | None = OLD

    def current(self) -> PublishedFlows:
        if self.flows is None:
            raise FlowsUnavailableError("flows/current.json", "connection refused")
        return self.flows

    def published(self, owner: str, version: str) -> PublishedFlows:
        return self.current()


class Clock:
    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def published() -> Published:
    return Published()


def lane_parser_of(
    lane: Lane,
    published: Published,
    clock: Clock,
    sandboxes: ParsesRuns,
    halt: HaltOnError | None = None,
) -> LaneParser:
    """One that has read the flows, some time ago."""
    limits, bucket = LANE_LIMITS[lane], MemoryBucket()
    flows = CachedFlows(published, monotonic=clock)
    flows.current()
    clock.now_s += 600
    programs = Programs(folders=NoArtifacts(), sandboxes=sandboxes, limits=limits)
    return LaneParser(
        budgets=FlowBudgets(lane, limits),
        parsers=ChosenParsers(
            flows=flows, earlier=published.published, programs=programs, limits=limits
        ),
        payloads=Payloads(landed=bucket, parked=bucket, parked_bucket="parked"),
        sandboxes=sandboxes,
        now_ms=lambda: NOW_MS,
        halt=halt,
    )


@pytest.mark.parametrize("lane", Lane)
def test_a_message_without_a_known_flow_waits_and_is_not_parked(
    lane: Lane, published: Published, clock: Clock, sandboxes: ParsesRuns
) -> None:
    lane_parser = lane_parser_of(lane, published, clock, sandboxes)
    published.flows = None

    rows = rows_of(lane_parser.outputs_of(raw_batch([RECORD, record_of(message_of(b"{}"))])))

    outcomes = {
        (one.stream, one.outcome, one.put_off)
        for one in (parsed_from(row.value or b"") for row in rows if row.topic == "fleet.parsed")
    }
    assert outcomes == {
        ("door", Outcome.DIVERTED, Deferral.FLOW_UNAVAILABLE),
        ("gps", Outcome.PARSED, None),
    }
    assert {row.topic for row in rows} == {"canonical.gps", "raw.slow", "fleet.parsed"}


def test_it_is_parsed_once_the_flows_can_be_read_again(
    published: Published, clock: Clock, sandboxes: ParsesRuns
) -> None:
    slow_lane = lane_parser_of(Lane.SLOW, published, clock, sandboxes)
    published.flows = None
    rows_of(slow_lane.outputs_of(raw_batch([RECORD])))

    published.flows = NEW
    clock.now_s += 15
    slow_lane.begin_batch()
    topics = [row.topic for row in rows_of(slow_lane.outputs_of(raw_batch([RECORD])))]

    assert topics == ["canonical.door", "fleet.parsed"]


def test_in_the_topic_of_a_blocking_flow_it_waits_where_it_is(
    published: Published, clock: Clock, sandboxes: ParsesRuns
) -> None:
    with buckets("parked") as s3:
        halt = HaltOnError(BlockedMessages(s3, "parked"), now_ms=lambda: NOW_MS)
        lane_parser = lane_parser_of(Lane.STANDARD, published, clock, sandboxes, halt)
        published.flows = None

        with pytest.raises(DeferredError, match="flow_unavailable"):
            rows_of(lane_parser.outputs_of(raw_batch([RECORD])))
