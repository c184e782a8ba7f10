"""A blocking flow stops at what it cannot parse; its query waits for an answer, and nobody else."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from clients.s3.blocked_messages import BlockedMessage, BlockedMessages
from fleetlane.events.envelope import KafkaPosition
from fleetlane.events.errors import ParkedReason
from fleetlane.events.flows.files import PublishedFlows
from fleetlane.events.lanes import LANE_LIMITS, Lane
from fleetlane.events.metadata import parsed_from
from fleetlane.events.topics import REROUTED_BYTES_MAX
from fleetlane.parsers.sandbox.platforms import ParsesRuns
from fleetlane.parsers.sandbox.results import Verdict
from glue_jobs.parse_lane.budgets import FlowBudgets
from glue_jobs.parse_lane.halting import BlockedError, BlockingQueries, DeferredError, HaltOnError
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
from tests.unit.glue_jobs.test_lane_batches import BusyParsers

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


def _topics(lane_parser: LaneParser, body: bytes) -> list[str]:
    record = record_of(message_of(body, stream="door"), topic=TOPIC)
    return [row.topic for row in rows_of(lane_parser.outputs_of(raw_batch([record])))]


def test_a_good_message_of_a_blocking_flow_comes_out(parser_of: Parsers) -> None:
    assert _topics(parser_of(BLOCKING), b"{}") == ["canonical.door", "fleet.parsed"]


def test_a_message_that_fails_stops_its_flow_and_says_why(
    parser_of: Parsers, blocked: BlockedMessages
) -> None:
    with pytest.raises(BlockedError, match="malformed"):
        _topics(parser_of(BLOCKING), b"{nope")

    (waiting,) = blocked.waiting(TOPIC)
    assert (waiting.partition, waiting.offset, waiting.reason, waiting.blocked_ms) == (
        1,
        42,
        ParkedReason.MALFORMED,
        NOW_MS,
    )


def test_it_stops_again_until_somebody_answers_and_keeps_its_first_reason(
    parser_of: Parsers, blocked: BlockedMessages
) -> None:
    for _ in range(2):
        with pytest.raises(BlockedError):
            _topics(parser_of(BLOCKING), b"{nope")

    assert len(blocked.waiting(TOPIC)) == 1


def test_a_message_that_is_to_be_skipped_is_parked(
    parser_of: Parsers, blocked: BlockedMessages
) -> None:
    with pytest.raises(BlockedError):
        _topics(parser_of(BLOCKING), b"{nope")

    blocked.skip(*blocked.waiting(TOPIC))

    assert _topics(parser_of(BLOCKING), b"{nope") == ["parked", "fleet.parsed"]


def test_a_skipped_message_that_s3_does_not_keep_waits(
    parser_of: Parsers, blocked: BlockedMessages
) -> None:
    too_large = (("x", b"x" * REROUTED_BYTES_MAX),)
    message = message_of(b"{nope", stream="door", other_headers=too_large)
    blocked.skip(WAITING)

    with pytest.raises(DeferredError, match="payload_unavailable"):
        rows_of(parser_of(BLOCKING).outputs_of(raw_batch([record_of(message, topic=TOPIC)])))


def test_a_flow_that_blocks_no_more_parks(parser_of: Parsers, blocked: BlockedMessages) -> None:
    assert _topics(parser_of(PARKING), b"{nope") == ["parked", "fleet.parsed"]
    assert blocked.waiting(TOPIC) == []


def test_a_skipped_message_of_a_flow_that_blocks_no_more_has_its_tries(
    parser_of: Parsers, blocked: BlockedMessages
) -> None:
    blocked.skip(WAITING)

    topics = _topics(parser_of(PARKING, BusyParsers(Verdict.TIMEOUT)), b"{}")

    assert topics == ["raw.slow", "fleet.parsed"]


@pytest.mark.parametrize("body", [b"{}", b"{nope"])
def test_what_a_withdrawn_flow_left_in_its_topic_is_parked(
    parser_of: Parsers, blocked: BlockedMessages, body: bytes
) -> None:
    record = record_of(message_of(body, stream="door"), topic=TOPIC)

    parked, told = rows_of(parser_of(OTHER).outputs_of(raw_batch([record])))

    assert (parked.topic, parked.value) == ("parked", body)
    assert parsed_from(told.value or b"").reason == ParkedReason.NO_FLOW
    assert blocked.waiting(TOPIC) == []


BOUND = (
    BLOCKING.replace("[[parsers]]", '[devices]\ntypes = ["door-lock"]\n[[parsers]]'),
    BLOCKING + 'device_types = ["door-lock"]\n',
)


@pytest.mark.parametrize("flow", BOUND, ids=["by-flow", "by-its-rules"])
@pytest.mark.parametrize(
    ("device_type", "body"), [("toaster", b"{nope"), ("toaster", b"{}"), (None, b"{}")]
)
def test_a_device_that_a_blocking_flow_does_not_expect_cannot_stop_it(
    parser_of: Parsers, blocked: BlockedMessages, flow: str, device_type: str | None, body: bytes
) -> None:
    toaster = message_of(body, stream="door", device_type=device_type)
    lock = message_of(b"{}", stream="door", device_type="door-lock")
    records = [record_of(one, topic=TOPIC) for one in (toaster, lock)]

    rows = rows_of(parser_of(flow).outputs_of(raw_batch(records)))

    assert sorted(row.topic for row in rows) == [
        "canonical.door",
        "fleet.parsed",
        "fleet.parsed",
        "parked",
    ]
    [parked] = [row for row in rows if row.topic == "parked"]
    assert (b"unexpected_device" in {value for _, value in parked.headers or ()}, parked.value) == (
        True,
        body,
    )
    assert blocked.waiting(TOPIC) == []


@pytest.mark.parametrize("flow", BOUND, ids=["by-flow", "by-its-rules"])
def test_a_device_that_it_expects_stops_it(parser_of: Parsers, flow: str) -> None:
    lock = message_of(b"{nope", stream="door", device_type="door-lock")

    with pytest.raises(BlockedError, match="malformed"):
        rows_of(parser_of(flow).outputs_of(raw_batch([record_of(lock, topic=TOPIC)])))


class ChangingFlows(FixedFlows):
    """Another version is published after each look-up."""

    def __init__(self, *versions: str) -> None:
        super().__init__(*versions[:1])
        self._coming = [FixedFlows(flow).current() for flow in versions]

    def current(self) -> PublishedFlows:
        return self._coming.pop(0) if len(self._coming) > 1 else self._coming[0]

    def fresh(self, *, max_age_s: float) -> PublishedFlows:
        return self.current()


def test_a_message_is_judged_by_the_flow_that_it_was_parsed_by(parser_of: Parsers) -> None:
    flows = ChangingFlows(BLOCKING, PARKING)

    with pytest.raises(BlockedError, match="malformed"):
        _topics(parser_of(flows), b"{nope")


def test_a_message_without_a_flow_is_not_looked_up_again(parser_of: Parsers) -> None:
    flows = ChangingFlows(OTHER, OTHER, BLOCKING)

    assert _topics(parser_of(flows), b"{nope") == ["parked", "fleet.parsed"]


@pytest.mark.parametrize(
    "verdict", [Verdict.NOT_TRIED, Verdict.CUT_SHORT, Verdict.CHILDREN_USED_UP]
)
def test_a_message_that_had_no_turn_blocks_nothing(
    parser_of: Parsers, blocked: BlockedMessages, verdict: Verdict
) -> None:
    with pytest.raises(DeferredError):
        _topics(parser_of(BLOCKING, BusyParsers(verdict)), b"{}")

    assert blocked.found(POSITION) is None


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


class SomeTopics:
    """Topics that are there; none is ever taken away."""

    def __init__(self, *names: str) -> None:
        self.names = [*names]

    def topics(self) -> list[str]:
        return self.names


@pytest.fixture
def started() -> Started:
    return Started()


@pytest.fixture
def told() -> list[Mapping[str, float]]:
    return []


@pytest.fixture
def topics() -> SomeTopics:
    return SomeTopics(
        TOPIC, "raw.standard", "raw.standard.stream.other", "raw.slow.block.door", "canonical.door"
    )


@pytest.fixture
def queries(
    started: Started, topics: SomeTopics, blocked: BlockedMessages, told: list[Mapping[str, float]]
) -> BlockingQueries:
    return BlockingQueries(
        Lane.STANDARD,
        start=started,
        topics=topics.topics,
        blocked=blocked,
        flows=FixedFlows(BLOCKING),
        publish=told.append,
    )


def _block(parser_of: Parsers) -> None:
    with pytest.raises(BlockedError):
        _topics(parser_of(BLOCKING), b"{nope")


def test_every_topic_of_a_blocking_flow_in_the_lane_has_one_query(
    queries: BlockingQueries, started: Started
) -> None:
    queries.check()
    queries.check()

    assert started.counts == {"door": 1}


def test_a_flow_that_is_published_later_has_its_query_too(
    queries: BlockingQueries, started: Started, topics: SomeTopics
) -> None:
    queries.check()

    topics.names.append("raw.standard.block.gate")
    queries.check()

    assert started.counts == {"door": 1, "gate": 1}


def test_a_stream_whose_query_cannot_be_started_holds_up_no_other(
    started: Started, blocked: BlockedMessages, told: list[Mapping[str, float]]
) -> None:
    def start(stream: str) -> FakeQuery:
        if stream == "door":
            raise RuntimeError("the JVM says no")
        return started(stream)

    queries = BlockingQueries(
        Lane.STANDARD,
        start=start,
        topics=lambda: [TOPIC, "raw.standard.block.gate"],
        blocked=blocked,
        flows=FixedFlows(BLOCKING),
        publish=told.append,
    )

    queries.check()

    assert (started.counts, told) == ({"gate": 1}, [{"BlockedStreams": 0}])


def test_a_query_that_failed_is_started_again(queries: BlockingQueries, started: Started) -> None:
    queries.check()
    started.queries["door"][0].stop()

    queries.check()

    assert started.counts == {"door": 2}


def test_a_query_whose_flow_waits_is_not_started_until_somebody_answers(
    queries: BlockingQueries, started: Started, blocked: BlockedMessages, parser_of: Parsers
) -> None:
    queries.check()
    _block(parser_of)
    started.queries["door"][0].stop()
    queries.check()
    before = started.counts

    blocked.retry(*blocked.waiting(TOPIC))
    queries.check()

    assert (before, started.counts) == ({"door": 1}, {"door": 2})


def test_how_many_wait_is_reported(
    queries: BlockingQueries, parser_of: Parsers, told: list[Mapping[str, Any]]
) -> None:
    _block(parser_of)

    queries.check()

    assert told == [{"BlockedStreams": 1}]


def test_all_stop_together(queries: BlockingQueries, started: Started) -> None:
    queries.check()

    queries.stop()

    assert [query.isActive for query in started.queries["door"]] == [False]
