"""Queries of blocking flows: each by itself, started and started again, but not while it waits."""

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Final, Protocol

from clients.flows.store import FlowsUnavailableError
from clients.s3.blocked_messages import BlockedMessage
from fleetlane.events.flows.files import PublishedFlows
from fleetlane.events.lanes import Lane
from fleetlane.events.metrics import LaneMetric
from fleetlane.events.topics import RawTopic, UnknownTopicError, parsed_raw_topic

LOOK_AGAIN_S: Final = 5
LOOKS_A_METRIC: Final = 12
"""CloudWatch keeps a minute's values, and each call costs."""

_log = logging.getLogger(__name__)


class Query(Protocol):
    """The part of a streaming query that is looked at."""

    @property
    def isActive(self) -> bool: ...  # noqa: N802 - Spark's name
    def stop(self) -> None: ...


class Topics(Protocol):
    """Which topics there are; ``KafkaAdmin`` knows."""

    def topics(self) -> Iterable[str]: ...


class Blocked(Protocol):
    """Where it stands who is blocked."""

    def waiting(self, topic: str) -> list[BlockedMessage]: ...
    def skip(self, blocked: BlockedMessage) -> None: ...


class Flows(Protocol):
    """Where the flows in force come from."""

    def current(self) -> PublishedFlows: ...


class BlockingQueries:
    """The queries of one lane's blocking flows: one for each topic that such a flow ever had.

    A topic is there before its flow is in force, and stays. So what landed in it is read also where
    the flow blocks no more, or is gone, and whether or not this job ran in between: a message that
    waited for an answer then has it, and goes the way of any other.
    """

    def __init__(
        self,
        lane: Lane,
        *,
        start: Callable[[str], Query],
        topics: Topics,
        blocked: Blocked,
        flows: Flows,
        publish: Callable[[Mapping[str, float]], None],
    ) -> None:
        self._lane, self._start, self._topics = lane, start, topics
        self._blocked, self._flows, self._publish = blocked, flows, publish
        self._queries: dict[str, Query] = {}
        self._looks = 0

    def look(self) -> None:
        """Start what should run and does not, and tell how many streams wait for an answer.

        Raises:
            FleetlaneError: S3 or Kafka does not answer. What runs goes on.
        """
        waiting = 0
        for stream in sorted(self._streams()):
            query = self._queries.get(stream)
            if query is not None and query.isActive:
                continue
            if self._waits(stream):
                waiting += 1
                continue
            self._queries[stream] = self._start(stream)
        if self._looks % LOOKS_A_METRIC == 0:
            self._publish({LaneMetric.BLOCKED_STREAMS: waiting})
        self._looks += 1

    def _waits(self, stream: str) -> bool:
        """Whether a message waits for an answer, which a flow that blocks no more has given."""
        topic = str(RawTopic(lane=self._lane, blocking_stream=stream))
        found = self._blocked.waiting(topic)
        if not found:
            return False
        if self._blocks(stream):
            _log.error("stream %s waits for an answer: %s", stream, found[0])
            return True
        for one in found:
            self._blocked.skip(one)
        _log.warning("stream %s blocks no more, and goes on with: %s", stream, found[0])
        return False

    def _blocks(self, stream: str) -> bool:
        try:
            flow = self._flows.current().by_stream.get(stream)
        except FlowsUnavailableError:  # nobody knows, so it waits on
            return True
        return flow is not None and flow.blocks

    def _streams(self) -> set[str]:
        found = map(_raw_topic, self._topics.topics())
        own = (topic for topic in found if topic is not None and topic.lane is self._lane)
        return {topic.blocking_stream for topic in own if topic.blocking_stream is not None}

    def stop(self) -> None:
        for query in self._queries.values():
            query.stop()


def _raw_topic(name: str) -> RawTopic | None:
    try:
        return parsed_raw_topic(name)
    except UnknownTopicError:
        return None
