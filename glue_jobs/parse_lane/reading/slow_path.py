"""Messages that are read one by one: by reference, encoded, or with an envelope of their own."""

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from typing import NamedTuple

from clients.s3.payload_bucket import (
    PayloadCorruptError,
    PayloadMissingError,
    PayloadTooLargeError,
    PayloadUnavailableError,
)
from fleetlane.events.envelope import BadEnvelopeError, Message
from fleetlane.events.envelope_reading import message_from
from fleetlane.events.errors import FleetlaneError, ParkedReason
from fleetlane.events.lanes import BUFFER_BYTES_MAX, PAYLOAD_BYTES_MAX, Lane
from fleetlane.events.metadata import Deferral
from glue_jobs.parse_lane.budgets import FlowBudgets
from glue_jobs.parse_lane.parsers.attempt_result import AttemptResult
from glue_jobs.parse_lane.parsers.choices import ChosenParser, NoParser
from glue_jobs.parse_lane.parsers.chosen_parsers import ChosenParsers
from glue_jobs.parse_lane.reading.payloads import FetchAhead, Payloads
from glue_jobs.parse_lane.reading.raw_batches import RawBatch, RawRecord, record_at
from glue_jobs.parse_lane.reading.runs import WaitingMessage


class Ready(NamedTuple):
    """A message that waits for its parser, and has its body once that is fetched."""

    row: int
    waiting: WaitingMessage
    chosen: ChosenParser


class Failed(NamedTuple):
    """A message that does not come to its parser, or a record that is no message at all."""

    record: RawRecord
    message: Message | None
    result: AttemptResult


type _NotGiven = tuple[Ready, PayloadUnavailableError]


class SlowPath:
    """Reads messages, chooses their parsers and fetches their bodies, several at once."""

    def __init__(self, *, parsers: ChosenParsers, payloads: Payloads, budgets: FlowBudgets) -> None:
        self._parsers, self._payloads, self._budgets = parsers, payloads, budgets
        self._ahead = FetchAhead(payloads.fetched)

    def read(
        self, batch: RawBatch, rows: Mapping[int, NoParser | None]
    ) -> Generator[Ready | Failed]:
        """Give each row's message, in order; last those whose bodies S3 did not give.

        A row may come with a choice that was made already: it is not made twice. Raises
        ``PayloadUnavailableError`` where S3 gives nothing at all, and there is no slower lane.
        """
        chosen = (self._chosen(row, record_at(batch, row), known) for row, known in rows.items())
        not_given, is_s3_there = list[_NotGiven](), False
        wanted = ((one, one.waiting.message if isinstance(one, Ready) else None) for one in chosen)
        with closing(self._ahead.in_order(wanted)) as in_order:
            for awaited in in_order:
                one = awaited.it
                if isinstance(one, Failed):
                    yield one
                    continue
                record, message, _ = one.waiting
                read: Ready | Failed
                try:
                    read = one._replace(waiting=WaitingMessage(record, message, awaited.body()))
                except PayloadUnavailableError as problem:
                    not_given.append((one, problem))
                    continue
                except (PayloadMissingError, PayloadCorruptError, PayloadTooLargeError) as problem:
                    read = Failed(record, message, _result(one.chosen, problem))
                is_s3_there = is_s3_there or message.reference is not None
                yield read
        yield from self._deferred(not_given, is_s3_there=is_s3_there)

    def _chosen(self, row: int, record: RawRecord, no_parser: NoParser | None) -> Ready | Failed:
        try:
            message = message_from(record.headers, record.value)
        except BadEnvelopeError as problem:
            result = AttemptResult(reason=ParkedReason.BAD_ENVELOPE, detail=str(problem))
            return Failed(record, None, result)
        chosen = no_parser or self._parsers.chosen(message)
        if isinstance(chosen, NoParser):
            result = AttemptResult.without_parser(chosen)
        elif self._budgets.is_refused(chosen.assignment, message):
            result = AttemptResult(choice=chosen, deferral=Deferral.SHARE_USED_UP)
        elif message.body_bytes > _bytes_max(chosen):
            too_large = PayloadTooLargeError(message.body_bytes, _bytes_max(chosen))
            result = _result(chosen, too_large)
        else:
            return Ready(row, WaitingMessage(record, message, b""), chosen)
        return Failed(record, message, result)

    def _deferred(self, not_given: Sequence[_NotGiven], *, is_s3_there: bool) -> Iterator[Failed]:
        """An object that S3 never gives is one message's trouble; an outage is everybody's."""
        has_outages = self._budgets.lane in (Lane.BULK, Lane.SLOW)
        for one, problem in not_given:
            record, message, _ = one.waiting
            reference = message.reference
            if has_outages and reference is not None and not is_s3_there:
                is_s3_there = self._payloads.answers(reference.key)
                if not is_s3_there:
                    raise problem
            result = AttemptResult(choice=one.chosen, deferral=Deferral.PAYLOAD_UNAVAILABLE)
            yield Failed(record, message, result)


def _result(chosen: ChosenParser, problem: FleetlaneError) -> AttemptResult:
    reason = ParkedReason(problem.reason)
    return AttemptResult(choice=chosen, reason=reason, detail=str(problem))


def _bytes_max(chosen: ChosenParser) -> int:
    return BUFFER_BYTES_MAX if chosen.accepts_buffer else PAYLOAD_BYTES_MAX
