"""A blocking flow, the parsers of its topic, and what is noted of a message at which it waits."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from clients.s3.blocked_messages import BlockedMessage, BlockedMessages
from fleetlane.events.envelope import KafkaPosition
from fleetlane.events.errors import ParkedReason
from fleetlane.events.lanes import LANE_LIMITS, Lane
from fleetlane.parsers.sandbox.platforms import ParsesRuns
from glue_jobs.parse_lane.budgets import FlowBudgets
from glue_jobs.parse_lane.halting import HaltOnError
from glue_jobs.parse_lane.lane_parser import LaneParser
from glue_jobs.parse_lane.reading.payloads import Payloads
from tests.contract.aws_in_process import buckets
from tests.unit.glue_jobs.conftest import (
    NOW_MS,
    FixedFlows,
    MemoryBucket,
    chosen_parsers,
    message_of,
    raw_batch,
    record_of,
    rows_of,
)

PARKING = """
stream = "door"
owner = "acme"
[[parsers]]
use = "json"
"""
BLOCKING = 'on_failure = "block"\ntopic = "stream"\n' + PARKING
OTHER = PARKING.replace("door", "lamp")
TOPIC = "raw.standard.block.door"
POSITION = KafkaPosition(topic=TOPIC, partition=1, offset=42)
WAITING = BlockedMessage(
    topic=TOPIC,
    partition=1,
    offset=42,
    reason=ParkedReason.TIMEOUT,
    detail="",
    parser="json@1",
    blocked_ms=0,
)


@pytest.fixture
def blocked() -> Iterator[BlockedMessages]:
    with buckets("parked") as s3:
        yield BlockedMessages(s3, "parked")


@pytest.fixture
def parser_of(
    blocked: BlockedMessages, sandboxes: ParsesRuns
) -> Callable[[str | FixedFlows, ParsesRuns | None], LaneParser]:
    def made(flow: str | FixedFlows, parsers: ParsesRuns | None = None) -> LaneParser:
        flows = FixedFlows(flow) if isinstance(flow, str) else flow
        bucket = MemoryBucket()
        bucket.is_down = True
        return LaneParser(
            budgets=FlowBudgets(Lane.STANDARD, LANE_LIMITS[Lane.STANDARD], is_blocking=True),
            parsers=chosen_parsers(
                flows, parsers or sandboxes, LANE_LIMITS[Lane.STANDARD], of_blocking_flow=True
            ),
            payloads=Payloads(landed=bucket, parked=bucket, parked_bucket="parked"),
            sandboxes=parsers or sandboxes,
            now_ms=lambda: NOW_MS,
            halt=HaltOnError(blocked, now_ms=lambda: NOW_MS),
        )

    return made


type Parsers = Callable[..., LaneParser]


def topics_of(lane_parser: LaneParser, body: bytes) -> list[str]:
    record = record_of(message_of(body, stream="door"), topic=TOPIC)
    return [row.topic for row in rows_of(lane_parser.outputs_of(raw_batch([record])))]


class FakeQuery:
    def __init__(self) -> None:
        self.isActive = True
        self.status: dict[str, Any] = {"isTriggerActive": False}
        self.lastProgress: dict[str, Any] | None = None

    def exception(self) -> object:
        return None

    def stop(self) -> None:
        self.isActive = False


class Started:
    """Starts queries that do nothing, and keeps them by stream."""

    def __init__(self) -> None:
        self.queries: dict[str, list[FakeQuery]] = {}

    def __call__(self, stream: str) -> FakeQuery:
        query = FakeQuery()
        self.queries.setdefault(stream, []).append(query)
        return query

    @property
    def counts(self) -> dict[str, int]:
        return {stream: len(queries) for stream, queries in self.queries.items()}


@pytest.fixture
def started() -> Started:
    return Started()
