"""A run fed to a child, chunk by chunk; a child that dies is replaced, and the run goes on.

The child is sent a few requests ahead, so that it never waits for the worker, and is not asked for
each message, so that a message costs no round trip. The price is that a death leaves messages that
were sent and not answered, and that a parser can forge the progress (``mark``) which says of what
the child died: docs/sandbox.md ("Blame") says how the blame is made sure.
"""

from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Final

from fleetlane.parsers.sandbox.budgets import TimeBudget
from fleetlane.parsers.sandbox.canonical_records import CanonicalRecords, Columns
from fleetlane.parsers.sandbox.packets import Reply
from fleetlane.parsers.sandbox.results import (
    Attempt,
    InvalidReplyError,
    NotedAttempts,
    Part,
    Result,
    Verdict,
)
from fleetlane.parsers.sandbox.runs import Run
from fleetlane.parsers.sandbox.worker.children import Children
from fleetlane.parsers.sandbox.worker.chunks import Chunk, Piece, Retry, chunk_bounds
from fleetlane.parsers.sandbox.worker.parser_child import ChildExit, ParserChild, WaitLimits, Worked
from fleetlane.parsers.sandbox.worker.replies import charges_of, read_records
from fleetlane.parsers.sandbox.worker.zygote_client import ParserNotLoadedError

REQUESTS_IN_FLIGHT: Final = 3
RETRIED: Final = frozenset({Verdict.PARSER_FAILED, Verdict.MEMORY, Verdict.CRASHED})
"""Failures that an immediate retry in a fresh child may not have."""

_OVER_BUDGET: Final = {Verdict.NOT_TRIED, Verdict.CUT_SHORT, Verdict.SHARE_USED_UP}
"""Where no budget ends, a message that says so of itself would come again for ever."""

NOT_TRIED: Final = Attempt(Verdict.NOT_TRIED)


class Feeding:
    """The state of one run: what is still to be sent, and what was sent and not answered yet.

    It is of the messages at ``places``, with one of ``sharers`` equal shares of what is left.
    """

    def __init__(
        self, run: Run, places: range, children: Children, budget: TimeBudget, *, sharers: int
    ) -> None:
        self._run, self._children, self._time_budget = run, children, budget
        self._unsent, self._sharers = chunk_bounds(run, places), sharers
        self._slots, self._topics = children.slots, run.assignment.topics
        self._waiting: deque[Piece | Retry] = deque()
        self._asked: deque[Piece] = deque()
        self._chunks: set[Chunk] = set()
        self._refused: Attempt | None = None
        self._ahead_us = 0

    def begin(self) -> None:
        """Send ahead what a child may be sent, so that it works while others are waited for."""
        self._write()
        if self._refusal() is None:
            with suppress(ParserNotLoadedError):  # the first step says so
                self._ask()

    def results(self) -> Iterator[Result]:
        """Give every message one result; results of one chunk follow each other."""
        self._write()
        while self._waiting or self._asked:
            if self._children.ended_orphan():  # by what another feeding's parser did
                self._put_asked_back()
            yield from self._step()
            self._write()

    def close(self, *, stays_awake: bool) -> None:
        """Leave the child to the next run, whether or not this one is done."""
        if self._asked or not stays_awake:
            self._children.rest(is_busy=bool(self._asked))
        for chunk in self._chunks:
            self._slots.release(chunk)

    def _write(self) -> None:
        while self._slots.has_free and (bounds := next(self._unsent, None)):
            chunk = self._slots.written(self._run, *bounds)
            self._chunks.add(chunk)
            self._waiting.append(Piece(chunk=chunk, first=0, count=chunk.count))

    def _step(self) -> Iterator[Result]:
        if not self._asked:
            first = self._waiting[0]
            if isinstance(first, Retry):
                self._waiting.popleft()
                yield from self._retried(first)
                return
            refused = self._refusal()
            if refused is not None:
                self._waiting.popleft()
                begin = first.chunk.first + first.first
                places = range(begin, begin + first.count)
                yield self._result(first.chunk, [(place, refused) for place in places])
                return
        try:
            self._ask()
            if not self._asked:  # loading the parser again has used the budget up
                return
            reply = self._children.current().reply(self._limits(self._asked[0]))
            if reply is not None:
                yield from self._answered(*reply)
                return
            self._after(self._children.end_current())
        except ParserNotLoadedError as problem:
            self._refused = Attempt(problem.verdict, problem.problem)
        except InvalidReplyError as problem:
            self._after(_of_invalid_reply(self._children.end_current(), problem))

    def _refusal(self, *, beyond_us: int = 0) -> Attempt | None:
        if self._time_budget.output.is_overdrawn(self._run.assignment.flow.stream):
            return Attempt(Verdict.SHARE_USED_UP)
        may_try = self._time_budget.may_try(self._run.assignment, beyond_us=beyond_us)
        return self._refused if may_try else NOT_TRIED

    def _has_overrun(self) -> bool:
        """One that keeps to its allowance stops by itself: no more is read of one that goes on."""
        return self._refusal(beyond_us=int(2e6 * self._run.assignment.kill_s)) is not None

    def _ask(self) -> None:
        child = self._children.current()
        self._charge_reloads()
        while self._waiting and self._refusal() is None and len(self._asked) < REQUESTS_IN_FLIGHT:
            piece = self._waiting[0]
            if isinstance(piece, Retry):  # after the child has answered all that it was sent
                return
            self._waiting.popleft()
            if piece.chunk.is_suspect and piece.count > 1:
                self._put_back(piece.chunk, (piece.first + 1, piece.count - 1))
                piece.count = 1
            self._send(child, piece)
            self._asked.append(piece)

    def _charge_reloads(self) -> None:
        if self._children.reload_us:
            self._time_budget.charge(self._run.assignment, self._children.reload_us)
            self._children.reload_us = 0

    def _send(self, child: ParserChild, piece: Piece) -> None:
        allowance = self._time_budget.allowance(self._run.assignment, sharers=self._sharers)
        piece.allowed_s = (max(0, allowance.budget_us) + allowance.overdraft_us) / 1e6
        child.ask(piece.request(child.charged, allowance), piece.chunk.memory)

    def _limits(self, piece: Piece) -> WaitLimits:
        """How long to wait; the second limit is for a parser that fakes progress."""
        assignment = self._run.assignment
        honest_s = piece.count * assignment.usual_s + piece.allowed_s + assignment.kill_s
        request_s = min(piece.count * assignment.kill_s, honest_s)
        return WaitLimits(message_s=assignment.kill_s, request_s=request_s)

    def _answered(self, reply: Reply, columns: memoryview, worked: Worked) -> Iterator[Result]:
        piece = self._asked[0]
        chunk, first = piece.chunk, piece.first
        part, records = self._read(reply, columns, worked, piece)
        piece.first, piece.count = first + part.messages, piece.count - part.messages
        if not piece.count:
            self._asked.popleft()
        if reply.is_retiring or (self._asked and self._has_overrun()):
            self._children.end_current()
            self._put_asked_back()
            self._check_respawns()
        failed = {place: one for place, one in part.failed().items() if one.verdict in RETRIED}
        if failed:
            by_place = {first + place: one for place, one in failed.items()}
            self._waiting.appendleft(Retry(chunk=chunk, failed=by_place))
        rest = NotedAttempts(part, first=chunk.first + first, without=failed)
        yield self._result(chunk, rest, records)

    def _read(
        self, reply: Reply, columns: memoryview, worked: Worked, piece: Piece
    ) -> tuple[Part, CanonicalRecords]:
        is_next = (reply.mark, reply.first) == (piece.chunk.mark, piece.first)
        if not is_next or not 0 < reply.messages <= piece.count:
            raise InvalidReplyError("a reply to what it was not asked")
        first, assignment = piece.chunk.first + piece.first, self._run.assignment
        last = first + reply.messages
        bodies = self._run.bodies[first:last]
        charges = charges_of(reply, worked, self._ahead_us, bodies, assignment)
        charged_us, charged_bytes, ahead_us = charges
        # Before it is read: one that is refused has taken the worker as long.
        self._time_budget.output.charge(assignment.flow.stream, charged_bytes)
        part, records = read_records(reply, columns, self._run.envelopes[first:last], assignment)
        if not self._time_budget.has_end and _OVER_BUDGET & {*part.notes.verdicts.tobytes()}:
            raise InvalidReplyError("a verdict of a budget that has no end")
        self._ahead_us = ahead_us
        self._time_budget.charge(assignment, charged_us, part.notes.parse_us)
        return part, records

    def _after(self, death: ChildExit) -> None:
        """Put back what the child was sent; the message that is blamed is retried."""
        self._put_asked_back()
        piece = self._waiting.popleft()
        assert isinstance(piece, Piece), "only pieces are asked of the current child"
        self._charge_death(death, piece.count)
        chunk, end = piece.chunk, piece.first + piece.count
        chunk.is_suspect = True
        blamed = piece.first if piece.count == 1 else death.mark - chunk.mark
        if piece.first <= blamed < end:
            self._put_back(chunk, (blamed + 1, end - blamed - 1))
            attempt = Attempt(death.verdict, death.detail, 0, death.worked_us)
            failed = {blamed: attempt if piece.count == 1 else NOT_TRIED}
            self._waiting.appendleft(Retry(chunk=chunk, failed=failed, is_blamed=True))
            self._put_back(chunk, (piece.first, blamed - piece.first))
        else:
            self._waiting.appendleft(piece)
        self._check_respawns()

    def _charge_death(self, death: ChildExit, messages: int) -> None:
        """No less than what its messages took beyond what is free: progress may be forged."""
        beyond_us = death.watched_us - int(messages * self._run.assignment.usual_s * 1e6)
        self._time_budget.charge(self._run.assignment, max(death.worked_us, beyond_us))

    def _check_respawns(self) -> None:
        if not self._children.may_respawn():
            self._refused = Attempt(Verdict.CHILDREN_USED_UP)

    def _retried(self, retry: Retry) -> Iterator[Result]:
        child: ParserChild | None = None
        cured: ParserChild | None = None
        self._children.rest(is_busy=False)  # nobody watches it meanwhile
        try:
            for place, earlier in retry.failed.items():
                if child is None and self._refusal() is None:
                    child = self._children.fresh(is_blamed=retry.is_blamed)
                    self._charge_reloads()
                attempt, records, child = self._alone(child, retry.chunk, place, earlier)
                cured = child if attempt.verdict is Verdict.OK else cured
                yield self._result(retry.chunk, [(retry.chunk.first + place, attempt)], records)
        finally:
            if child is not None and child is cured:
                self._children.replace_current(child)
            elif child is not None:
                child.end()

    def _alone(
        self, child: ParserChild | None, chunk: Chunk, place: int, earlier: Attempt
    ) -> tuple[Attempt, CanonicalRecords | None, ParserChild | None]:
        """Try one message in a child of its own; also return the child, if it is alive."""
        if child is None or self._has_overrun():
            is_untried = earlier is NOT_TRIED
            return (self._refusal() or earlier) if is_untried else earlier, None, child
        try:
            only = Piece(chunk=chunk, first=place, count=1)
            self._send(child, only)
            reply = child.reply(self._limits(only))
            if reply is not None:
                part, records = self._read(*reply, only)
                if reply[0].is_retiring:
                    child.end()
                attempt = part.attempt(0)._replace(output_bytes=len(records.values))
                return attempt, records, None if reply[0].is_retiring else child
            death = child.end()
        except InvalidReplyError as problem:
            death = _of_invalid_reply(child.end(), problem)
        self._charge_death(death, 1)
        return Attempt(death.verdict, death.detail, 0, death.worked_us), None, None

    def _result(
        self,
        chunk: Chunk,
        attempts: list[tuple[int, Attempt]] | NotedAttempts,
        records: CanonicalRecords | None = None,
    ) -> Result:
        chunk.undecided -= len(attempts)
        if not chunk.undecided:
            self._chunks.discard(chunk)
            self._slots.release(chunk)
        return Result(attempts, Columns().taken(self._topics) if records is None else records)

    def _put_asked_back(self) -> None:
        self._waiting.extendleft(reversed(self._asked))
        self._asked.clear()

    def _put_back(self, chunk: Chunk, bounds: tuple[int, int]) -> None:
        if bounds[1]:
            self._waiting.appendleft(Piece(chunk=chunk, first=bounds[0], count=bounds[1]))


def _of_invalid_reply(death: ChildExit, problem: InvalidReplyError) -> ChildExit:
    return replace(death, verdict=Verdict.CRASHED, detail=str(problem))
