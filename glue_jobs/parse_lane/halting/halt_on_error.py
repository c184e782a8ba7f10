"""What a blocking flow does with a message that cannot be parsed: it waits for an answer."""

from collections.abc import Callable
from typing import Protocol

from clients.s3.blocked_messages import BlockedMessage
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.flows.files import PublishedFlows
from fleetlane.events.metadata import Deferral, Outcome
from fleetlane.events.parked import KafkaPosition
from glue_jobs.parse_lane.reading.raw_batches import RawRecord
from glue_jobs.parse_lane.results.attempt_result import AttemptResult


class BlockedError(FleetlaneError):
    """A blocking flow's message cannot be parsed. Its query stops here until somebody answers."""

    reason = "blocked"
    position: KafkaPosition
    problem: str
    sentence = "{position} blocks its flow ({problem}): see `fleetlane unblock`"


class DeferredError(FleetlaneError):
    """A blocking flow's message could not be result now. Its query stops, and is started again."""

    reason = "not_tried"
    position: KafkaPosition
    put_off: Deferral
    sentence = "{position} was not result: {put_off}"


class Blocked(Protocol):
    """Where it stands who is blocked, and by what; ``BlockedMessages`` is one."""

    def found(self, position: KafkaPosition) -> BlockedMessage | None: ...
    def put(self, blocked: BlockedMessage) -> None: ...


class Flows(Protocol):
    """Where the flows in force come from."""

    def current(self) -> PublishedFlows: ...


class HaltOnError:
    """Stops a query at a message that would be parked or diverted, unless it is to be skipped."""

    def __init__(self, blocked: Blocked, *, flows: Flows, now_ms: Callable[[], int]) -> None:
        self._blocked, self._flows, self._now_ms = blocked, flows, now_ms

    def outcome(
        self, record: RawRecord, stream: str, result: AttemptResult, outcome: Outcome
    ) -> Outcome:
        """What becomes of a message after all; as it is where its flow does not block any more.

        Raises:
            BlockedError: Nobody has said yet that it is to be skipped.
            DeferredError: Nothing is known against it, but it could not be result.
        """
        flow = self._flows.current().by_stream.get(stream)
        if flow is None or not flow.blocks or outcome in (Outcome.PARSED, Outcome.EMPTY):
            return outcome
        if result.put_off is not None:
            raise DeferredError(record.position, result.put_off)
        found = self._blocked.found(record.position)
        if found is None:
            found = self._note(record, result)
        if found.is_skipped:
            return Outcome.PARKED
        raise BlockedError(record.position, f"{found.reason}: {found.detail}")

    def _note(self, record: RawRecord, result: AttemptResult) -> BlockedMessage:
        assert result.reason is not None, "nothing blocks without a reason"
        blocked = BlockedMessage(
            topic=record.topic,
            partition=record.partition,
            offset=record.offset,
            reason=result.reason,
            detail=result.detail,
            parser=result.parser,
            blocked_ms=self._now_ms(),
        )
        self._blocked.put(blocked)
        return blocked
