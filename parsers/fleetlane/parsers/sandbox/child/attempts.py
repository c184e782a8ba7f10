"""Messages parsed one after another, each all or nothing, and the result noted of each."""

import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from types import FrameType
from typing import Final, Self

from fleetlane.events.canonical import NotJsonError
from fleetlane.parsers.contract import MalformedMessage, Parser
from fleetlane.parsers.sandbox.canonical_records import Columns
from fleetlane.parsers.sandbox.child.charge import Charge
from fleetlane.parsers.sandbox.child.encoding import Encoder
from fleetlane.parsers.sandbox.packets import IDLE
from fleetlane.parsers.sandbox.results import (
    DETAIL_CHARS_MAX,
    NO_SPAN_MS,
    PARSE_US_MAX,
    OverLimitError,
    Part,
    Verdict,
    notes_of,
)
from fleetlane.parsers.sandbox.runs import PART_BYTES, Assignment, Body, EncodedBody, TimeAllowance
from fleetlane.parsers.sandbox.stopwatch import Stopwatch

type _Message = tuple[bytes, Body | EncodedBody]

_HAS_TIMER: Final = hasattr(signal, "setitimer")
_TICK_S_MIN: Final = 0.002


class TimeIsUp(BaseException):
    """The time limit has passed. Not an ``Exception``, so that ``except Exception`` lets it by."""


class SoftLimit:
    """Raises ``TimeIsUp`` in the message that is being parsed once it has taken ``limit_s``.

    One timer runs for many messages, so that a message costs no system call: it ticks ten times
    within the limit. Needs the main thread. One long call into C is cut only when it returns, and
    what catches ``BaseException`` is cut again at each tick: after that it takes a kill. Where
    there is no interval timer (Windows), there is no limit.

    ``message`` is the number of the one that is being parsed, unique in this process, or ``IDLE``:
    set by whoever parses, as a call would cost more than all else here.
    """

    def __init__(self, limit_s: float) -> None:
        self.limit_s = limit_s
        self._stopwatch: Stopwatch | None = None
        self._seen = self.message = IDLE
        self.is_short = self._is_in_tick = False

    def __enter__(self) -> Self:
        if _HAS_TIMER:
            self._earlier = signal.signal(signal.SIGALRM, self._tick)
        self._start()
        return self

    def shorten(self, limit_s: float) -> None:
        """Cut the messages from the next one on so early: not for a failure of theirs."""
        self.is_short, self.limit_s = True, limit_s
        self._start()

    def __exit__(self, *_: object) -> None:
        if _HAS_TIMER:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, self._earlier)

    def _start(self) -> None:
        self._tick_s = max(self.limit_s / 10, _TICK_S_MIN)
        if _HAS_TIMER:
            signal.setitimer(signal.ITIMER_REAL, self._tick_s, self._tick_s)

    def _tick(self, _signal: int, _frame: FrameType | None) -> None:
        if self._is_in_tick or self.message == IDLE:
            return
        self._is_in_tick = True  # the next tick may come while this one waits for a CPU
        try:
            if self._stopwatch is None or self.message != self._seen:
                self._seen = self.message
                self._stopwatch = Stopwatch(os.getpid(), tick_s=self._tick_s)
            elif self._stopwatch.read() >= self.limit_s:
                raise TimeIsUp
        finally:
            self._is_in_tick = False


_NOT_TRIED: Final = (Verdict.NOT_TRIED, 0, 0, *NO_SPAN_MS)
_FINE: Final = (Verdict.OK, "")


class Attempts:
    """Parses messages of one assignment into ``columns``, as far as the allowance for them goes.

    ``progress[0]`` shows the worker which message is being parsed, or was last: ``mark`` plus its
    number; between parts ``IDLE``. ``waited_ns`` gives how long this process has waited for a CPU.
    """

    def __init__(
        self,
        assignment: Assignment,
        parser: Parser,
        allowance: TimeAllowance,
        progress: memoryview,
        waited_ns: Callable[[], int],
    ) -> None:
        self.columns, left_bytes = Columns(), allowance.output_bytes
        self._encoder = Encoder(assignment, parser, self.columns, left_bytes=left_bytes)
        self._allowance, self._progress, self._waited_ns = allowance, progress, waited_ns
        self._usual_us = int(assignment.usual_s * 1e6)
        self._soft_limit = SoftLimit(assignment.parse_s)

    def part(self, messages: Iterable[_Message], count: int, *, mark: int) -> Part:
        """Parse so many messages, an envelope and a body each, or fewer where the part gets large.

        Each is cut, or the rest not tried, as the allowance says.
        """
        allowance = self._allowance
        charge = Charge(allowance, usual_us=self._usual_us, waited_ns=self._waited_ns)
        rows, details, waiting = list[int](), dict[int, str](), iter(messages)
        verdict, detail = Verdict.OK, ""
        with self._soft_limit:
            began_ns = time.perf_counter_ns()
            for number in range(count):
                if charge.is_overdrawn:
                    rows += _NOT_TRIED
                    continue
                if charge.is_short and not self._soft_limit.is_short:
                    self._soft_limit.shorten(allowance.short_us / 1e6)
                before = len(self.columns.topic_indexes)
                verdict, detail = self._one(waiting, mark + number)
                ended_ns = time.perf_counter_ns()  # where the next one begins: one call, not two
                took_us, began_ns = (ended_ns - began_ns) // 1000, ended_ns
                if took_us >= charge.charged_from_us:
                    took_us = min(took_us, PARSE_US_MAX)
                    charge.add(took_us, was_cut_short=verdict is Verdict.CUT_SHORT)
                span_ms = self._encoder.span_ms if verdict is Verdict.OK else NO_SPAN_MS
                rows += (verdict, len(self.columns.topic_indexes) - before, took_us, *span_ms)
                if detail:
                    details[number] = detail[:DETAIL_CHARS_MAX]
                if verdict is Verdict.MEMORY or len(self.columns.values) > PART_BYTES:
                    break
        self._progress[0] = IDLE
        growth, is_out = self._encoder.growth, verdict is Verdict.MEMORY
        used = charge.used_us(), growth.charged_bytes
        return Part(notes_of(rows), details, growth.inflated, *used, is_out_of_memory=is_out)

    def _one(self, waiting: Iterator[_Message], mark: int) -> tuple[Verdict, str]:
        """Parse one message; what a failed one appended to the columns is taken back.

        A signal handler raises ``TimeIsUp`` between any two bytecodes while ``soft_limit.message``
        is set, also while it is being taken away: hence the inner ``finally`` within the outer
        ``try``, and records are dropped by their count from before.
        """
        soft_limit, events = self._soft_limit, len(self.columns.topic_indexes)
        try:
            try:
                envelope, body = next(waiting)  # its copy may be what is too much for the memory
                self._progress[0] = soft_limit.message = mark
                self._encoder.encode(envelope, body)
            finally:
                soft_limit.message = IDLE
        except TimeIsUp:
            soft_limit.message = IDLE
            failure = Verdict.TIMEOUT, f"not parsed within {soft_limit.limit_s * 1000:.0f} ms"
            if soft_limit.is_short:
                failure = Verdict.CUT_SHORT, ""
        except KeyboardInterrupt:
            raise
        except BaseException as problem:  # noqa: BLE001 - SystemExit too is one message's failure
            failure = _verdict_on(problem)
        else:
            return _FINE
        self.columns.take_back_to(events)
        return failure


def _verdict_on(problem: BaseException) -> tuple[Verdict, str]:
    match problem:
        case MalformedMessage() | NotJsonError():
            return Verdict.MALFORMED, _text(problem)
        case OverLimitError():
            return problem.verdict, problem.detail
        case MemoryError():
            return Verdict.MEMORY, f"out of memory: {_text(problem)}"
        case _:
            return Verdict.PARSER_FAILED, f"{type(problem).__name__}: {_text(problem)}"


def _text(problem: BaseException) -> str:
    """An error's text. Its ``__str__`` is the parser's code: it may raise anything."""
    try:
        return str(problem)[:DETAIL_CHARS_MAX].encode("utf-8", "replace").decode()
    except Exception:  # noqa: BLE001 - the edge to code that is not ours
        return "(it cannot say why)"
