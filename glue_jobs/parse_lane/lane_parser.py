"""What becomes of raw records: canonical events, another attempt in the slow lane, or parked."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from typing import Final

import numpy as np

from clients.s3.payload_bucket import PayloadUnavailableError
from fleetlane.events.envelope import Message, Parking
from fleetlane.events.envelope_reading import message_from
from fleetlane.events.lanes import Lane, LaneLimits
from fleetlane.events.metadata import Deferral, Outcome, Parsed, parsed_value
from fleetlane.events.topics import FLEET_PARSED
from fleetlane.parsers.sandbox.canonical_records import CanonicalRecords
from fleetlane.parsers.sandbox.platforms import ParsesRuns
from fleetlane.parsers.sandbox.results import Attempt, NotedAttempts
from fleetlane.parsers.sandbox.time_budget import TimeBudget
from glue_jobs.parse_lane.halting import HaltOnError
from glue_jobs.parse_lane.parsers.attempt_result import AttemptResult
from glue_jobs.parse_lane.parsers.chosen_parsers import ChosenParser, ChosenParsers, NoParser
from glue_jobs.parse_lane.reading.fast_path import FastPathMessages, fast_path_messages
from glue_jobs.parse_lane.reading.payloads import Payloads
from glue_jobs.parse_lane.reading.raw_batches import RawBatch, RawRecord
from glue_jobs.parse_lane.reading.runs import WaitingMessages, WaitingRun
from glue_jobs.parse_lane.reading.slow_path import Failed, SlowPath
from glue_jobs.parse_lane.results.output_batches import OutputRecord, ParsedRows
from glue_jobs.parse_lane.results.parsed_rows import ParsedBatch, good_and_others, parsed_rows
from glue_jobs.parse_lane.results.rerouted import (
    deferred_record,
    diverted_record,
    parked_record,
    untouched_record,
)

BATCHES_TO_ALARM: Final = 3
"""A batch's budget of time: so many batches that use theirs up bring the lane's lag to an alarm."""

BUDGET_SHARE_MAX: Final = 1 / 5
"""Of a batch's budget in the slow lane; what one flow may use of it before its messages wait."""

DIVERTED_BUDGET_SHARE_MAX: Final = 1 / 50
"""Where there is a slower lane: of all time that passes, and of a batch's budget at the most. While
one message takes its time the others of its task wait, and at a batch's end those of all tasks."""

_NO_END_S: Final = 1e6

type Output = OutputRecord | CanonicalRecords | ParsedRows


class LaneParser:
    """Parses the records of one lane. Not for use by several threads."""

    def __init__(
        self,
        *,
        lane: Lane,
        limits: LaneLimits,
        parsers: ChosenParsers,
        payloads: Payloads,
        sandboxes: ParsesRuns,
        now_ms: Callable[[], int],
    ) -> None:
        self._lane, self._limits, self._parsers = lane, limits, parsers
        self._payloads, self._sandboxes, self._now_ms = payloads, sandboxes, now_ms
        self._slow_path = SlowPath(lane=lane, parsers=parsers, payloads=payloads)
        self._halt: HaltOnError | None = None
        self._time_budget = self._full_time_budget()

    def halt_on_errors(self, halt: HaltOnError) -> None:
        """Let a blocking flow's message that fails stop everything behind it, from now on."""
        self._halt = halt
        self._time_budget = self._full_time_budget()

    @property
    def halts_on_errors(self) -> bool:
        """Whether records are to come one by one, as the next may not be for it to parse."""
        return self._halt is not None

    @property
    def is_slow(self) -> bool:
        """Whether one message may take long here: what is done then does not wait for it."""
        return self._lane is Lane.SLOW

    def begin_batch(self) -> None:
        """Use the current flows from now on; in the slow lane, refill each flow's time budget."""
        self._parsers.begin_batch()
        self._payloads.begin_batch()
        self._time_budget.begin_batch()
        if self.is_slow:  # what it defers comes back to it
            self._time_budget = self._full_time_budget()

    def _full_time_budget(self) -> TimeBudget:
        if self._halt is not None:  # it takes no other flow's time
            return TimeBudget(flow_s_max=_NO_END_S)
        share = BUDGET_SHARE_MAX if self.is_slow else DIVERTED_BUDGET_SHARE_MAX
        flow_s_max = self._limits.lag_alarm_s / BATCHES_TO_ALARM * share
        return TimeBudget(
            flow_s_max=flow_s_max,
            # what is cut short in the slow lane would come back to it, and its time would be lost
            overdraft_s_max=0 if self.is_slow else flow_s_max,
            regained_share=share,
        )

    def outputs_of(self, records: RawBatch | Iterable[RawRecord]) -> Iterator[Output]:
        """Give all that is to be written for records; those of one flow keep their order.

        Raises:
            FlowsUnavailableError: No flows could be read yet. The batch is to be tried again.
            PayloadUnavailableError: S3 gives nothing, and there is no slower lane. Likewise.
            BlockedError, DeferredError: See ``HaltOnError``.
        """
        batch = records if isinstance(records, RawBatch) else RawBatch.of(records)
        fast = fast_path_messages(batch)
        waiting = WaitingMessages(batch, fast)
        slow_rows = self._slow_rows(batch, fast, waiting)
        with closing(self._slow_path.read(batch, slow_rows)) as slow:
            for read in slow:
                if not isinstance(read, Failed):
                    waiting.add(read.row, read.waiting, read.chosen)
                    if waiting.is_full:
                        yield from self._parsed(waiting, read.row + 1)
                elif read.message is None:
                    parked = self._parked(read.record, read.result, None)
                    yield untouched_record(read.record) if parked is None else parked
                else:
                    yield from self._rerouted(read.record, read.message, read.result)
        yield from self._parsed(waiting, len(batch))

    def _slow_rows(
        self, batch: RawBatch, fast: FastPathMessages, waiting: WaitingMessages
    ) -> dict[int, NoParser | None]:
        """Gather the messages of the fast path that have a parser, and give the rows of all others.

        Those of the fast path among them come with the reason why they have none.
        """
        slow = dict.fromkeys(np.flatnonzero(~fast.is_fast).tolist())
        refused = dict[int, NoParser | None]()
        for rows in fast.kinds():
            record = batch.record(int(rows[0]))
            choice = self._parsers.chosen(message_from(record.headers, record.value))
            if isinstance(choice, ChosenParser):
                waiting.add_fast(rows, choice)
            else:
                refused |= dict.fromkeys(rows.tolist(), choice)
        return dict(sorted((slow | refused).items())) if refused else slow

    def _parsed(self, waiting: WaitingMessages, until: int) -> Iterator[Output]:
        parsed = list[ParsedBatch]()
        for waiting_run in waiting.taken(until):
            for result in self._sandboxes.parsed(waiting_run.run, self._time_budget):
                yield result.records
                attempts = result.attempts
                if isinstance(attempts, NotedAttempts):
                    good, attempts = good_and_others(attempts, waiting_run)
                    if len(good.places):  # the slow path alone has no columns
                        parsed.append(ParsedBatch(waiting_run, good, self._now_ms()))
                for place, attempt in attempts:
                    yield from self._after(waiting_run, place, attempt)
            if parsed and self.is_slow:
                yield parsed_rows(parsed, lane=self._lane)
                parsed.clear()
        if parsed:
            yield parsed_rows(parsed, lane=self._lane)

    def _after(self, run: WaitingRun, place: int, attempt: Attempt) -> Iterator[OutputRecord]:
        record, message, body = run.at(place)
        result = AttemptResult.by_parser(attempt, chosen=run.chosen, body_bytes=len(body))
        yield from self._rerouted(record, message, result)

    def _rerouted(
        self, record: RawRecord, message: Message, result: AttemptResult
    ) -> Iterator[OutputRecord]:
        """The message itself, if it goes elsewhere, and its row for ``fleet.parsed``."""
        outcome = result.outcome(lane=self._lane, slow_tries=message.slow_tries)
        if self._halt is not None:
            outcome = self._halt.outcome(record, result, outcome)
        parked = self._parked(record, result, message) if outcome is Outcome.PARKED else None
        if outcome is Outcome.PARKED and parked is None:
            deferred = result.deferred(Deferral.PAYLOAD_UNAVAILABLE)
            yield from self._rerouted(record, message, deferred)
            return
        if parked is not None:
            yield parked
        elif outcome is Outcome.DIVERTED and self.is_slow and result.deferral is not None:
            yield deferred_record(record, message)
        elif outcome is Outcome.DIVERTED:
            yield diverted_record(record, message, counts_as_slow_try=self.is_slow)
        yield self._metadata(record, message, result, outcome)

    def _parked(
        self, record: RawRecord, result: AttemptResult, message: Message | None
    ) -> OutputRecord | None:
        """The parked record; ``None`` where S3 does not keep its bytes, though it answers."""
        assert result.reason is not None, "nothing is parked without a reason"
        parking = Parking(
            reason=result.reason,
            detail=result.detail,
            position=record.position,
            parser=result.parser,
            parked_millis=self._now_ms(),
        )
        try:
            return parked_record(record, parking, message=message, payloads=self._payloads)
        except PayloadUnavailableError as problem:
            if self.is_slow and not self._payloads.answers(problem.key):
                raise
            return None

    def _metadata(
        self, record: RawRecord, message: Message, result: AttemptResult, outcome: Outcome
    ) -> OutputRecord:
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
            reason=result.reason,
            put_off=result.deferral,
            parser=result.parser,
            revision=message.revision,
            instead_of=result.instead_of,
            events=result.events,
            parse_us=result.parse_us,
            inflated_bytes=result.body_bytes,
            first_event_ms=result.first_event_ms,
            last_event_ms=result.last_event_ms,
            received_ms=message.arrival_millis,
            parsed_ms=self._now_ms(),
        )
        return OutputRecord(FLEET_PARSED, message.device_id.encode(), parsed_value(parsed))
