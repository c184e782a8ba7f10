"""What a blocking flow does with a message that cannot be parsed: it waits for an answer."""

from collections.abc import Callable

from clients.s3.blocked_messages import BlockedMessage, BlockedMessages
from fleetlane.events.envelope import KafkaPosition
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.metadata import Deferral, Outcome
from glue_jobs.parse_lane.parsers.attempt_result import AttemptResult
from glue_jobs.parse_lane.reading.raw_batches import RawRecord


class BlockedError(FleetlaneError):
    """A blocking flow's message cannot be parsed. Its query stops until an operator answers."""

    reason = "blocked"
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
        if (
            result.flow is None
            or not result.flow.blocks
            or outcome in (Outcome.PARSED, Outcome.EMPTY)
        ):
            return outcome
        if result.deferral is not None:
            raise DeferredError(record.position, result.deferral)
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
