"""What becomes of one raw record: canonical events, another try in the slow lane, or parked."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, Protocol

from clients.payload_bucket import (
    PayloadCorruptError,
    PayloadMissingError,
    PayloadTooLargeError,
    PayloadUnavailableError,
)
from fleetlane.events.envelope import BadEnvelopeError, Message
from fleetlane.events.envelope_reading import message_from
from fleetlane.events.errors import ParkedReason
from fleetlane.events.flow_files import PublishedFlows
from fleetlane.events.lanes import SLOW_TRIES_MAX, WIGGLE, Lane, LaneLimits
from fleetlane.events.metadata import Outcome, Parsed, parsed_value
from fleetlane.events.parked import Parking
from fleetlane.events.topics import FLEET_PARSED
from fleetlane.parsers.body_encoding import BodyTooLargeError, decoded_body
from fleetlane.parsers.contract import MalformedMessage
from fleetlane.parsers.sandbox.attempt import Attempt, ParseJob, attempted
from glue_jobs.parse_lane.chosen_parsers import ChosenParser, ChosenParsers, NoParserError
from glue_jobs.parse_lane.output_batches import OutputRecord
from glue_jobs.parse_lane.payloads import PAYLOAD_BYTES_MAX, Payloads
from glue_jobs.parse_lane.raw_batches import RawRecord
from glue_jobs.parse_lane.rerouted import diverted_record, parked_record

MAY_PASS_NEXT_TIME: Final = frozenset(
    {
        ParkedReason.TIMEOUT,
        ParkedReason.PARSER_FAILED,
        ParkedReason.MEMORY,
        ParkedReason.CRASHED,
    }
)
"""Failures that another attempt may not have. The same bytes fail again for any other reason."""


_BODY_ERRORS: Final = (
    PayloadMissingError,
    PayloadCorruptError,
    PayloadTooLargeError,
    BodyTooLargeError,
    MalformedMessage,
)


class Flows(Protocol):
    """Where the current flows come from."""

    def current(self) -> PublishedFlows: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tried:
    """What came of trying a message. Unreachable: its payload could not be fetched just now."""

    attempt: Attempt
    parser: str | None = None
    body_bytes: int = 0
    is_unreachable: bool = False

    @property
    def may_pass_next_time(self) -> bool:
        return self.is_unreachable or self.attempt.reason in MAY_PASS_NEXT_TIME


class LaneParser:
    """Parses the records of one lane. Not for use by several threads."""

    def __init__(
        self,
        *,
        lane: Lane,
        limits: LaneLimits,
        flows: Flows,
        payloads: Payloads,
        now_ms: Callable[[], int],
    ) -> None:
        self._lane, self._limits, self._flows = lane, limits, flows
        self._payloads, self._now_ms = payloads, now_ms
        self._parsers = ChosenParsers()

    def outputs_of(self, record: RawRecord) -> Iterator[OutputRecord]:
        """Give all that is to be written for a record.

        Raises:
            FlowsUnavailableError: No flows could be read yet. The batch is to be tried again.
            PayloadUnavailableError: S3 does not answer, and there is no slower lane. Likewise.
        """
        try:
            message = message_from(record.headers, record.value)
        except BadEnvelopeError as problem:
            failed = Attempt(reason=ParkedReason.BAD_ENVELOPE, detail=str(problem))
            yield self._parked(record, _Tried(attempt=failed), None)
            return
        tried = self._tried(message)
        outcome = self._outcome(message, tried)
        match outcome:
            case Outcome.PARSED:
                yield from (OutputRecord(*event) for event in tried.attempt.records)
            case Outcome.DIVERTED:
                yield diverted_record(record, message, lane=self._lane)
            case Outcome.PARKED:
                yield self._parked(record, tried, message)
            case Outcome.EMPTY:
                pass
        yield self._metadata(record, message, tried, outcome)

    def _outcome(self, message: Message, tried: _Tried) -> Outcome:
        if tried.may_pass_next_time:
            was_last = self._lane is Lane.SLOW and message.slow_tries + 1 >= SLOW_TRIES_MAX
            return Outcome.PARKED if was_last else Outcome.DIVERTED
        if tried.attempt.reason is not None:
            return Outcome.PARKED
        return Outcome.PARSED if tried.attempt.records else Outcome.EMPTY

    def _tried(self, message: Message) -> _Tried:
        try:
            chosen = self._parsers.chosen(self._flows.current(), message)
        except NoParserError as problem:
            return _Tried(attempt=Attempt(reason=problem.parked_reason, detail=str(problem)))
        name = chosen.loaded.identifier
        try:
            body = decoded_body(
                self._body(message), message.body_encoding, bytes_max=PAYLOAD_BYTES_MAX
            )
        except _BODY_ERRORS as problem:
            reason = ParkedReason(problem.reason)
            return _Tried(attempt=Attempt(reason=reason, detail=str(problem)), parser=name)
        except PayloadUnavailableError:
            if self._lane is Lane.SLOW:
                raise
            return _Tried(attempt=Attempt(), parser=name, is_unreachable=True)
        attempt = self._attempted_twice(message, body, chosen)
        return _Tried(attempt=attempt, parser=name, body_bytes=len(body))

    def _body(self, message: Message) -> bytes:
        if message.reference is None:
            return message.body or b""
        return self._payloads.fetched(message.reference, body_bytes=message.body_bytes)

    def _attempted_twice(self, message: Message, body: bytes, chosen: ChosenParser) -> Attempt:
        limit_ms = min(self._limits.parse_ms_max, chosen.flow.limits.parse_ms_max or 60_000)
        job = ParseJob(
            message=message,
            body=body,
            flow=chosen.flow,
            parser=chosen.loaded.parser,
            parser_identifier=chosen.loaded.identifier,
            limit_s=limit_ms * WIGGLE / 1000,
        )
        attempt = attempted(job)
        return attempted(job) if attempt.reason is ParkedReason.PARSER_FAILED else attempt

    def _parked(self, record: RawRecord, tried: _Tried, message: Message | None) -> OutputRecord:
        parking = Parking(
            reason=tried.attempt.reason or ParkedReason.PAYLOAD_MISSING,
            detail=tried.attempt.detail,
            position=record.position,
            parser=tried.parser,
            parked_millis=self._now_ms(),
        )
        return parked_record(record, parking, message=message, payloads=self._payloads)

    def _metadata(
        self, record: RawRecord, message: Message, tried: _Tried, outcome: Outcome
    ) -> OutputRecord:
        attempt = tried.attempt
        parsed = Parsed(
            id=message.raw_id,
            attempt=message.attempt,
            device_id=message.device_id,
            stream=message.stream,
            lane=self._lane,
            source_topic=record.topic,
            source_partition=record.partition,
            source_offset=record.offset,
            outcome=outcome,
            reason=attempt.reason,
            parser=tried.parser,
            events=len(attempt.records),
            parse_us=attempt.parse_us,
            inflated_bytes=tried.body_bytes,
            first_event_ms=attempt.first_event_ms,
            last_event_ms=attempt.last_event_ms,
            parsed_ms=self._now_ms(),
        )
        return OutputRecord(FLEET_PARSED, message.device_id.encode(), parsed_value(parsed))
