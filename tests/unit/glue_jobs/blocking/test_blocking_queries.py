"""A blocking flow has a query of its own, which waits with it and goes on with it."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from clients.s3.blocked_messages import (
    BlockedMessage,
    BlockedMessages,
    BlockedMessagesUnavailableError,
)
from fleetlane.events.lanes import Lane
from glue_jobs.kafka.admin import KafkaAdminError
from glue_jobs.parse_lane import halting
from glue_jobs.parse_lane.halting import BlockedError, BlockingQueries
from tests.unit.glue_jobs.blocking.conftest import (
    BLOCKING,
    TOPIC,
    FakeQuery,
    Parsers,
    Started,
    topics_of,
)
from tests.unit.glue_jobs.conftest import FixedFlows


class SomeTopics:
    """Topics that are there; none is ever taken away."""

    def __init__(self, *names: str) -> None:
        self.names, self.is_away = [*names], False

    def topics(self) -> list[str]:
        if self.is_away:
            raise KafkaAdminError("timed out")
        return self.names


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
        topics_of(parser_of(BLOCKING), b"{nope")


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


def test_while_its_application_stops_a_query_that_ended_is_not_started_again(
    queries: BlockingQueries, started: Started
) -> None:
    queries.check()

    started.queries["door"][0].stop()
    queries.check(may_start=False)

    assert started.counts == {"door": 1}


def test_how_many_wait_is_reported(
    queries: BlockingQueries, parser_of: Parsers, told: list[Mapping[str, Any]]
) -> None:
    _block(parser_of)

    queries.check()

    assert told == [{"BlockedStreams": 1}]


@pytest.fixture
def is_always_due(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(halting, "METRICS_INTERVAL_S", 0)


@pytest.fixture
def s3_is_away(blocked: BlockedMessages, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Has S3 answer no question about messages from its call on."""

    def fail(topic: str) -> list[BlockedMessage]:
        raise BlockedMessagesUnavailableError(topic, "S3 answers 500")

    return lambda: monkeypatch.setattr(blocked, "waiting", fail)


@pytest.mark.usefixtures("is_always_due")
def test_a_flow_that_waits_is_reported_while_s3_does_not_answer(
    queries: BlockingQueries,
    parser_of: Parsers,
    told: list[Mapping[str, Any]],
    s3_is_away: Callable[[], None],
) -> None:
    _block(parser_of)
    queries.check()

    s3_is_away()
    queries.check()

    assert told == [{"BlockedStreams": 1}] * 2


@pytest.mark.usefixtures("is_always_due")
def test_a_flow_that_waits_is_reported_while_first_kafka_and_then_s3_does_not_answer(
    queries: BlockingQueries,
    topics: SomeTopics,
    parser_of: Parsers,
    told: list[Mapping[str, Any]],
    s3_is_away: Callable[[], None],
) -> None:
    _block(parser_of)
    queries.check()

    topics.is_away = True
    with pytest.raises(KafkaAdminError):
        queries.check()
    topics.is_away = False

    s3_is_away()
    queries.check()

    assert told == [{"BlockedStreams": 1}] * 2


def test_all_stop_together(queries: BlockingQueries, started: Started) -> None:
    queries.check()

    queries.stop()

    assert [query.isActive for query in started.queries["door"]] == [False]
