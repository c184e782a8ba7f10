"""Messages parsed one after another, each all or nothing, and what is noted of each."""

import os
import time
from array import array
from collections.abc import Sequence
from typing import Final, NamedTuple

from fleetlane.events.canonical import NotJsonError
from fleetlane.parsers.contract import MalformedMessage
from fleetlane.parsers.sandbox.columns import Columns
from fleetlane.parsers.sandbox.encoding import Encoder
from fleetlane.parsers.sandbox.runs import Assignment, Body
from fleetlane.parsers.sandbox.soft_limit import SoftLimit, TimeIsUp
from fleetlane.parsers.sandbox.stopwatch import run_queue_ns
from fleetlane.parsers.sandbox.verdicts import (
    DETAIL_CHARS_MAX,
    Attempt,
    OverLimitError,
    Verdict,
)

PART_BYTES: Final = 4 << 20
"""What was parsed is handed on once its records have this many bytes."""

NOTE_FIELDS: Final = 5
IDLE: Final = -1
NO_TIME: Final = -(1 << 62)
_VERDICTS: Final = {int(verdict): verdict for verdict in Verdict}


class Part(NamedTuple):
    """What is known of messages that were parsed one after another.

    ``notes`` are ``NOTE_FIELDS`` numbers a message: verdict, events, microseconds, and the times
    of its first and last event. ``overtime_us`` is what they took beyond what is usual, less what
    the process waited for a CPU. ``is_out_of_memory`` means that the last one was.
    """

    notes: "array[int] | memoryview"
    details: dict[int, str]
    overtime_us: int = 0
    is_out_of_memory: bool = False

    @property
    def messages(self) -> int:
        return len(self.notes) // NOTE_FIELDS

    def attempt(self, place: int) -> Attempt:
        """What came of one message, by its place in this part."""
        row = self.notes[place * NOTE_FIELDS : (place + 1) * NOTE_FIELDS]
        verdict, events, parse_us, first_ms, last_ms = row
        return Attempt(
            _VERDICTS[verdict],
            self.details.get(place, "") if verdict else "",
            events,
            parse_us,
            None if first_ms == NO_TIME else first_ms,
            None if last_ms == NO_TIME else last_ms,
        )

    def failed(self) -> dict[int, Attempt]:
        """The attempts that were not ``OK``, by place."""
        verdicts = self.notes.tolist()[::NOTE_FIELDS]
        if not any(verdicts):
            return {}
        return {place: self.attempt(place) for place, verdict in enumerate(verdicts) if verdict}


class Attempts:
    """Parses messages of one assignment into ``columns``.

    ``progress[0]`` tells whoever watches which message is in work: ``mark`` plus its number, or
    ``IDLE``.
    """

    def __init__(
        self, assignment: Assignment, encoder: Encoder, columns: Columns, progress: memoryview
    ) -> None:
        self._encoder, self._columns, self._progress = encoder, columns, progress
        self._limit_s, self._usual_us = assignment.parse_s, int(assignment.usual_s * 1e6)
        self.soft_limit = SoftLimit(assignment.parse_s)

    def part(
        self,
        envelopes: Sequence[bytes],
        bodies: Sequence[Body],
        *,
        mark: int,
        overtime_us_max: int,
    ) -> Part:
        """Parse messages from the first on, until all are done or the part is large enough.

        Once they have used ``overtime_us_max`` beyond what is usual, the rest is not tried.
        """
        notes, details, overtime = array("q"), dict[int, str](), _Overtime(overtime_us_max)
        verdict = Verdict.OK
        with self.soft_limit:
            for number, (envelope, body) in enumerate(zip(envelopes, bodies, strict=True)):
                if overtime.is_used_up:
                    notes.extend((Verdict.NOT_TRIED, 0, 0, NO_TIME, NO_TIME))
                    continue
                began_ns = time.perf_counter_ns()
                verdict, detail = self._one(envelope, body, mark + number)
                took_us = (time.perf_counter_ns() - began_ns) // 1000
                if took_us > self._usual_us:
                    overtime.add(took_us - self._usual_us)
                self._note(notes, verdict, took_us)
                if detail:
                    details[number] = detail
                if verdict is Verdict.MEMORY or len(self._columns.values) > PART_BYTES:
                    break
        return Part(notes, details, overtime.used_us, is_out_of_memory=verdict is Verdict.MEMORY)

    def _one(self, envelope: bytes, body: Body, mark: int) -> tuple[Verdict, str]:
        progress, soft_limit = self._progress, self.soft_limit
        self._columns.begin_message()
        try:
            try:
                progress[0] = mark
                soft_limit.begin(mark)
                self._encoder.encode(envelope, body)
            finally:
                soft_limit.end()
                progress[0] = IDLE
        except TimeIsUp:  # it may have come in the middle of `finally`
            soft_limit.end()
            progress[0] = IDLE
            return self._failed(Verdict.TIMEOUT, late_detail(self._limit_s))
        except KeyboardInterrupt:
            raise
        except BaseException as problem:  # noqa: BLE001 - SystemExit too is one message's failure
            return self._failed(*_verdict_on(problem))
        return Verdict.OK, ""

    def _failed(self, verdict: Verdict, detail: str) -> tuple[Verdict, str]:
        self._columns.take_back_message()
        return verdict, detail

    def _note(self, notes: "array[int]", verdict: Verdict, took_us: int) -> None:
        first_ms, last_ms = self._encoder.first_event_ms, self._encoder.last_event_ms
        if verdict is not Verdict.OK or first_ms is None or last_ms is None:
            first_ms = last_ms = NO_TIME
        notes.extend((verdict, self._columns.message_events, took_us, first_ms, last_ms))


class _Overtime:
    def __init__(self, us_max: int) -> None:
        self._us_max, self._taken_us, self.used_us = us_max, 0, 0
        self._waited_ns = run_queue_ns(os.getpid())
        self.is_used_up = us_max < 0

    def add(self, us: int) -> None:
        self._taken_us += us
        waited_us = (run_queue_ns(os.getpid()) - self._waited_ns) // 1000
        self.used_us = max(0, self._taken_us - waited_us)
        self.is_used_up = self.used_us > self._us_max


def late_detail(limit_s: float) -> str:
    return f"not parsed within {limit_s * 1000:.0f} ms"


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
    """What an error says of itself; its ``__str__`` is not ours, nor is what that may raise."""
    try:
        text = str(problem)[:DETAIL_CHARS_MAX]
        return text.encode("utf-8", "replace").decode()
    except Exception:  # noqa: BLE001 - the edge to code that is not ours
        return "(it cannot say why)"
