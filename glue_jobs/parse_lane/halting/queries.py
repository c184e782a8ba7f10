"""Queries of blocking flows: one for each topic, which waits while a message has no answer."""

import logging
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Final, Protocol

from clients.flows.store import CurrentFlows, FlowsUnavailableError
from clients.s3.blocked_messages import BlockedMessages
from fleetlane.events.lanes import Lane
from fleetlane.events.metrics import LaneMetric
from fleetlane.events.topics import RawTopic, UnknownTopicError, parsed_raw_topic
from glue_jobs.engine.periodic_tasks import PeriodicTask
from glue_jobs.engine.supervisor import DesiredQuery, Query, Supervisor

METRICS_INTERVAL_S: Final = 60
"""CloudWatch keeps a minute's values, and each call costs."""

_log = logging.getLogger(__name__)


class Topics(Protocol):
    """Which topics there are; ``KafkaAdmin`` knows."""

    def topics(self) -> Iterable[str]: ...


class BlockingQueries:
    """The queries of one lane's blocking flows: one for each topic that such a flow ever had.

    A topic exists before its flow is current, and stays. So what landed in it is read also where
    the flow blocks no more, or is gone, and whether or not this job ran in between: a message that
    waited for an answer then has it, and goes the way of any other.
    """

    def __init__(
        self,
        lane: Lane,
        *,
        start: Callable[[str], Query],
        topics: Topics,
        blocked: BlockedMessages,
        flows: CurrentFlows,
        publish: Callable[[Mapping[str, float]], None],
    ) -> None:
        self._lane, self._start, self._topics = lane, start, topics
        self._blocked, self._flows, self._publish = blocked, flows, publish
        self._waiting: set[str] = set()
        self._supervisor = Supervisor(self._desired, restart_s=0)
        self._metric = PeriodicTask(
            name="blocked streams", run=self._publish_waiting, interval_s=METRICS_INTERVAL_S
        )

    def check(self) -> None:
        """Start what should run and does not, and publish how many streams wait for an answer.

        Raises:
            FleetlaneError: S3 or Kafka does not answer. What runs goes on.
        """
        self._waiting.clear()
        self._supervisor.check()
        self._metric.run_if_due()

    def stop(self) -> None:
        self._supervisor.stop()

    def _publish_waiting(self) -> None:
        self._publish({LaneMetric.BLOCKED_STREAMS: len(self._waiting)})

    def _desired(self) -> Mapping[str, DesiredQuery]:
        found = map(_raw_topic, self._topics.topics())
        own = (topic for topic in found if topic is not None and topic.lane is self._lane)
        return {
            str(topic): DesiredQuery(
                start=partial(self._start, topic.blocking_stream),
                must_wait=partial(self._must_wait, str(topic), topic.blocking_stream),
            )
            for topic in own
            if topic.blocking_stream is not None
        }

    def _must_wait(self, topic: str, stream: str) -> bool:
        """Whether a message waits for an answer, which a flow that blocks no more has given."""
        found = self._blocked.waiting(topic)
        if not found:
            return False
        if self._blocks(stream):
            _log.error("stream %s waits for an answer: %s", stream, found[0])
            self._waiting.add(stream)
            return True
        for one in found:
            self._blocked.skip(one)
        _log.warning("stream %s blocks no more, and goes on with: %s", stream, found[0])
        return False

    def _blocks(self, stream: str) -> bool:
        try:
            flow = self._flows.current().by_stream.get(stream)
        except FlowsUnavailableError:  # unknown, so it keeps waiting
            return True
        return flow is not None and flow.blocks


def _raw_topic(name: str) -> RawTopic | None:
    try:
        return parsed_raw_topic(name)
    except UnknownTopicError:
        return None
