"""Flows that halt on an error: their own queries, which wait for an operator's answer."""

import logging
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from hashlib import sha256
from typing import Final

from clients.flows.store import FlowsUnavailableError
from clients.s3.blocked_messages import (
    BlockedMessage,
    BlockedMessages,
    BlockedMessagesUnavailableError,
)
from fleetlane.events.envelope import KafkaPosition
from fleetlane.events.errors import FleetlaneError, ParkedReason
from fleetlane.events.lanes import Lane
from fleetlane.events.metadata import Deferral, Outcome
from fleetlane.events.metrics import LaneMetric
from fleetlane.events.names import is_name
from fleetlane.events.topics import RawTopic
from glue_jobs.engine.cloudwatch_metrics import METRICS_INTERVAL_S, Publish
from glue_jobs.engine.supervisor import DesiredQuery, PeriodicTask, Query, Supervisor
from glue_jobs.parse_lane.parsers.attempt_result import AttemptResult
from glue_jobs.parse_lane.parsers.chosen_parsers import Flows
from glue_jobs.parse_lane.reading.raw_batches import RawRecord

FLOWS_AGE_S_MAX: Final = 1.0
"""A flow that begins to block may do so at once: by older flows its message would be skipped."""

_log = logging.getLogger(__name__)


class BlockedError(FleetlaneError):
    """A blocking flow's message cannot be parsed. Its query stops until an operator answers."""

    position: KafkaPosition
    problem: str
    sentence = "{position} blocks its flow ({problem}): see `fleetlane unblock`"


class DeferredError(FleetlaneError):
    """A blocking flow's message could not be tried now. Its query stops, and is started again."""

    reason = "not_tried"
    position: KafkaPosition
    deferral: Deferral
    sentence = "{position} was not tried: {deferral}"


class HaltOnError:
    """Stops a query at a message that would be parked or diverted, unless it is to be skipped."""

    def __init__(self, blocked: BlockedMessages, *, now_ms: Callable[[], int]) -> None:
        self._blocked, self._now_ms = blocked, now_ms

    def outcome(self, record: RawRecord, result: AttemptResult, outcome: Outcome) -> Outcome:
        """What becomes of a message after all; as it is where its flow does not block any more.

        Raises:
            BlockedError: No operator has answered yet that it is to be skipped.
            DeferredError: Nothing is known against it, but it could not be tried.
        """
        if result.deferral is Deferral.FLOW_UNAVAILABLE:  # it may be one that blocks
            raise DeferredError(record.position, result.deferral)
        if (
            result.flow is None
            or not result.flow.blocks
            or outcome in (Outcome.PARSED, Outcome.EMPTY)
            or result.reason is ParkedReason.UNEXPECTED_DEVICE  # it is not the flow's to wait for
        ):
            return outcome
        if result.deferral is not None:
            raise DeferredError(record.position, result.deferral)
        found, digest = self._blocked.found(record.position), sha256(repr(record).encode())
        if found is None or found.digest not in ("", digest.hexdigest()):
            found = self._note(record, result, digest.hexdigest())
        if found.is_skipped:
            return Outcome.PARKED
        raise BlockedError(record.position, f"{found.reason}: {found.detail}")

    def _note(self, record: RawRecord, result: AttemptResult, digest: str) -> BlockedMessage:
        assert result.reason is not None, "nothing blocks without a reason"
        blocked = BlockedMessage(
            topic=record.topic,
            partition=record.partition,
            offset=record.offset,
            reason=result.reason,
            detail=result.detail,
            parser=result.parser,
            blocked_ms=self._now_ms(),
            digest=digest,
        )
        self._blocked.put(blocked)
        return blocked


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
        topics: Callable[[], Iterable[str]],
        blocked: BlockedMessages,
        flows: Flows,
        publish: Publish,
    ) -> None:
        """``topics`` gives the names of all topics that there are."""
        self._lane, self._start, self._topics = lane, start, topics
        self._blocked, self._flows = blocked, flows
        self._waiting, self._waited = set[str](), set[str]()
        self._supervisor = Supervisor(self._desired, restart_s=0)
        self._metric = PeriodicTask(
            name="blocked streams",
            run=lambda: publish({LaneMetric.BLOCKED_STREAMS: len(self._waiting)}),
            interval_s=METRICS_INTERVAL_S,
        )

    def check(self, *, may_start: bool = True) -> None:
        """Start what should run and does not, and publish how many streams wait for an answer.

        Once its application stops it ``may_start`` nothing: what ended would begin another batch.
        What runs goes on while S3 or Kafka does not answer: that raises ``FleetlaneError``.
        """
        if not may_start:
            self._supervisor.start_no_more()
        self._supervisor.check()
        self._metric.run_if_due()

    def stop(self) -> None:
        self._supervisor.stop()

    def _desired(self) -> Mapping[str, DesiredQuery]:
        begin = str(RawTopic(lane=self._lane, blocking_stream=""))
        found = {one: one.removeprefix(begin) for one in self._topics() if one.startswith(begin)}
        self._waited, self._waiting = self._waiting, set()
        return {
            topic: DesiredQuery(
                start=partial(self._start, stream),
                must_wait=partial(self._must_wait, topic, stream),
            )
            for topic, stream in found.items()
            if is_name(stream)
        }

    def _must_wait(self, topic: str, stream: str) -> bool:
        """Whether a message waits for an answer, which a flow that blocks no more has given."""
        try:
            found = self._blocked.waiting(topic)
        except BlockedMessagesUnavailableError:
            self._waiting |= self._waited & {stream}  # as far as anybody knows
            raise
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
            flow = self._flows.fresh(max_age_s=FLOWS_AGE_S_MAX).by_stream.get(stream)
        except FlowsUnavailableError:  # unknown, so it keeps waiting
            return True
        return flow is not None and flow.blocks
