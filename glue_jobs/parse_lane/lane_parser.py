"""What becomes of raw records: canonical events, another attempt elsewhere, or parked."""

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from typing import Final

import numpy as np
import pyarrow as pa

from clients.s3.payload_bucket import PayloadUnavailableError
from fleetlane.events.envelope import Message, Parking
from fleetlane.events.envelope_reading import message_from
from fleetlane.events.lanes import BulkCause, Lane
from fleetlane.events.metadata import OVER_BUDGET, Deferral, Outcome, Parsed, parsed_value
from fleetlane.events.topics import FLEET_PARSED, RawTopic
from fleetlane.parsers.sandbox.canonical_records import CanonicalRecords
from fleetlane.parsers.sandbox.platforms import ParsesRuns
from fleetlane.parsers.sandbox.results import Attempt, NotedAttempts
from glue_jobs.parse_lane.budgets import FlowBudgets
from glue_jobs.parse_lane.halting import HaltOnError
from glue_jobs.parse_lane.parsers.attempt_result import AttemptResult
from glue_jobs.parse_lane.parsers.choices import ChosenParser, NoParser
from glue_jobs.parse_lane.parsers.chosen_parsers import ChosenParsers
from glue_jobs.parse_lane.reading import fast_path
from glue_jobs.parse_lane.reading.payloads import Payloads
from glue_jobs.parse_lane.reading.raw_batches import RawBatch, RawRecord, record_at, streams_in
from glue_jobs.parse_lane.reading.runs import WaitingMessages, WaitingRun
from glue_jobs.parse_lane.reading.slow_path import Failed, SlowPath
from glue_jobs.parse_lane.results import rerouted
from glue_jobs.parse_lane.results.output_batches import OutputRecord
from glue_jobs.parse_lane.results.parsed_rows import ParsedBatch, good_and_others, parsed_rows

_UNCHARGED_PARKING_S: Final = 0.001

type Output = OutputRecord | CanonicalRecords | pa.RecordBatch
"""Single records, or many: canonical ones, or others as a batch of ``OUTPUT_SCHEMA``."""


class LaneParser:
    """Parses the records of one lane. Not for use by several threads."""

    def __init__(
        self,
        *,
        budgets: FlowBudgets,
        parsers: ChosenParsers,
        payloads: Payloads,
        sandboxes: ParsesRuns,
        now_ms: Callable[[], int],
        halt: HaltOnError | None = None,
    ) -> None:
        """Parse for the lane that ``budgets`` are of.

        With ``halt`` the records are of a blocking flow, and one that fails stops all behind it.
        """
        self._lane, self._budgets, self._parsers = budgets.lane, budgets, parsers
        self._payloads, self._now_ms = payloads, now_ms
        self.sandboxes = sandboxes
        self._parse = partial(sandboxes.parsed, children_max=budgets.children_max)
        self._slow_path = SlowPath(parsers=parsers, payloads=payloads, budgets=budgets)
        self._halt = halt
        self.is_slow = self._lane is Lane.SLOW
        """Whether one message may take long here: what is done then does not wait for it."""
        self.by_column_min = fast_path.BY_COLUMN_MIN
        """Batches of so many records or more are read by column."""

    def begin_batch(self) -> None:
        """Use the current flows from now on, and a batch's budgets."""
        self._parsers.begin_batch()
        self._payloads.begin_batch()
        self._budgets.begin_batch()

    def outputs_of(self, batch: RawBatch) -> Iterator[Output]:
        """Give all that is to be written for records; those of one flow keep their order.

        Raises:
            FlowsUnavailableError: No flows could be read yet. The batch is to be tried again.
            PayloadUnavailableError: S3 gives nothing, and there is no slower lane. Likewise.
            BlockedError, DeferredError: See ``HaltOnError``.
        """
        if self._halt is not None and len(batch) > 1:  # the next may not be for it to parse
            for row in range(len(batch)):
                yield from self.outputs_of(batch.take([row]))
            return
        self._budgets.begin_records(partial(streams_in, batch))
        by_column = len(batch) >= self.by_column_min
        fast = fast_path.fast_path_messages(batch) if by_column else fast_path.no_fast_path(batch)
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
                    yield rerouted.untouched_record(read.record) if parked is None else parked
                else:
                    yield from self._rerouted(read.record, read.message, read.result)
        yield from self._parsed(waiting, len(batch))

    def _slow_rows(
        self, batch: RawBatch, fast: fast_path.FastPathMessages, waiting: WaitingMessages
    ) -> dict[int, NoParser | None]:
        """Gather the messages of the fast path that have a parser, and give the rows of all others.

        Those of the fast path among them come with the reason why they have none, or must wait.
        """
        slow = dict.fromkeys(np.flatnonzero(~fast.is_fast).tolist())
        if len(slow) == len(batch):
            return slow
        refused = dict[int, NoParser | None]()
        for rows in fast.kinds(self._parsers.flows):
            record = record_at(batch, int(rows[0]))
            choice = self._parsers.chosen(message_from(record.headers, record.value))
            if isinstance(choice, ChosenParser):
                admitted = self._budgets.admitted(choice.assignment, len(rows))
                if admitted:
                    waiting.add_fast(rows[:admitted], choice)
                why, deferral = "its flow has had its share", Deferral.SHARE_USED_UP
                over = NoParser(problem=why, flow=choice.flow, deferral=deferral)
                refused |= dict.fromkeys(rows[admitted:].tolist(), over)
            else:
                refused |= dict.fromkeys(rows.tolist(), choice)
        return dict(sorted((slow | refused).items())) if refused else slow

    def _parsed(self, waiting: WaitingMessages, until: int) -> Iterator[Output]:
        parsed = list[ParsedBatch]()
        for waiting_run in waiting.taken(until):
            for result in self._parse(waiting_run.run, self._budgets.time):
                yield result.records
                self._budgets.charge_output(waiting_run.chosen.assignment, result.records)
                attempts = result.attempts
                if isinstance(attempts, NotedAttempts):
                    now_ms = self._now_ms()
                    good, attempts = good_and_others(
                        attempts, result.records, waiting_run, parsed_ms=now_ms
                    )
                    if good is not None:
                        parsed.append(good)
                for place, attempt in attempts:
                    yield from self._after(waiting_run, place, attempt)
            if parsed and self.is_slow:
                yield parsed_rows(parsed, lane=self._lane)
                parsed.clear()
        if parsed:
            yield parsed_rows(parsed, lane=self._lane)

    def _after(self, run: WaitingRun, place: int, attempt: Attempt) -> Iterator[OutputRecord]:
        record, message, body = run.at(place)
        body_bytes = len(body) if message.body_encoding is None else attempt.inflated_bytes
        result = AttemptResult.by_parser(attempt, chosen=run.chosen, body_bytes=body_bytes)
        yield from self._rerouted(record, message, result)

    def _rerouted(
        self, record: RawRecord, message: Message, result: AttemptResult
    ) -> Iterator[OutputRecord]:
        """The message itself, if it goes elsewhere, and its row for ``fleet.parsed``."""
        outcome = result.outcome(lane=self._lane, slow_tries=message.slow_tries)
        if self._halt is not None:
            outcome = self._halt.outcome(record, result, outcome)
        if outcome is Outcome.PARKED:
            parked = self._parked(record, result, message)
            if parked is None:
                deferral = Deferral.PAYLOAD_UNAVAILABLE
                deferred = AttemptResult(choice=result.choice, deferral=deferral)
                yield from self._rerouted(record, message, deferred)
                return
            yield parked
        elif outcome is Outcome.DIVERTED:
            yield self._diverted(record, message, result)
        yield self._metadata(record, message, result, outcome)

    def _diverted(self, record: RawRecord, message: Message, result: AttemptResult) -> OutputRecord:
        if result.deferral is Deferral.FLOW_BLOCKS and result.flow is not None:
            return rerouted.own_topic_record(record, message, result.flow)
        has_over = self._lane in (Lane.BULK, Lane.SLOW) and not self._budgets.is_over
        if has_over and result.deferral in OVER_BUDGET:
            return rerouted.next_attempt(record, message, rerouted.over_topic(message, self._lane))
        is_too_large = result.deferral in (Deferral.TOO_LARGE_FOR_LANE, Deferral.SHARE_USED_UP)
        if is_too_large and not self._budgets.is_over:
            # From a quicker lane to the one whose limits it may grow to.
            large = RawTopic(lane=Lane.BULK, cause=BulkCause.LARGE)
            return rerouted.next_attempt(record, message, large, bulk_cause=large.cause)
        if self.is_slow and result.deferral is not None:
            return rerouted.deferred_record(record, message, is_over=self._budgets.is_over)
        tries = message.slow_tries + self.is_slow
        return rerouted.next_attempt(record, message, RawTopic(lane=Lane.SLOW), slow_tries=tries)

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
        began_s = time.monotonic()
        try:
            return rerouted.parked_record(record, parking, message=message, payloads=self._payloads)
        except PayloadUnavailableError as problem:
            # What an outage of S3 would divert is most of these lanes: it is waited for.
            if self._lane in (Lane.BULK, Lane.SLOW) and not self._payloads.answers(problem.key):
                raise
            return None
        finally:  # where bytes go to S3 the others wait meanwhile, so their flow pays
            if isinstance(result.choice, ChosenParser):
                assignment, waited_s = result.choice.assignment, time.monotonic() - began_s
                charged_s = min(waited_s - _UNCHARGED_PARKING_S, assignment.parse_s)
                self._budgets.time.charge(assignment, max(0, int(charged_s * 1e6)))

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
            events=result.attempt.events,
            parse_us=result.attempt.parse_us,
            inflated_bytes=result.body_bytes,
            output_bytes=result.attempt.output_bytes,
            first_event_ms=result.attempt.first_event_ms,
            last_event_ms=result.attempt.last_event_ms,
            received_ms=message.arrival_millis,
            parsed_ms=self._now_ms(),
        )
        return OutputRecord(FLEET_PARSED, message.device_id.encode(), parsed_value(parsed))
