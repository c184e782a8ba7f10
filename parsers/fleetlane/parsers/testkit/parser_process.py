"""A parser in a process of its own: no crash, hang or import of it affects this one."""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import batched
from typing import IO, Final

import msgspec

from fleetlane.events.errors import FleetlaneError
from fleetlane.parsers.sandbox.settings import environment_with
from fleetlane.parsers.testkit.trials import Outcome, Subject, Trial

_STARTED_AS: Final = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from fleetlane.parsers.testkit.parsing import main
main(is_sandboxed=json.loads(sys.argv[2]))
"""
_PATIENCE_S: Final = 60.0
_TRIALS_AT_ONCE: Final = 500
ROUNDS_MAX: Final = 1_000
SECONDS_MAX: Final = 3.0
_ROUNDS_AT_ONCE: Final = 50
_outcomes: Final = msgspec.json.Decoder(tuple[Outcome, ...])


class ParserProcessGoneError(FleetlaneError):
    """A parser's process ended, or hung, where nothing of the parser's should make it."""

    use: str
    problem: str
    sentence = "the process of parser {use!r} {problem}"


class ParserProcess(AbstractContextManager["ParserProcess"]):
    """Tries messages with one subject. Use it as a context: it ends the process.

    Without the sandbox a parser runs in that process itself: what crashes or hangs takes it along,
    and the next message has another one.
    """

    def __init__(
        self,
        subject: Subject,
        *,
        variables: Mapping[str, str] | None = None,
        is_sandboxed: bool | None = None,
        patience_s: float = _PATIENCE_S,
    ) -> None:
        """Nothing is started yet. ``variables`` are those that differ from this process's own.

        By default it ``is_sandboxed`` on Linux. It may stay silent for ``patience_s`` beyond what
        messages may take.
        """
        self.subject = subject
        self._is_sandboxed = has_sandbox() if is_sandboxed is None else is_sandboxed
        self._base_patience_s = patience_s
        self._variables = variables or {}
        self._process: subprocess.Popen[bytes] | None = None
        self._is_late = False

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None and self._process is not None:  # nobody reads what it would answer
            self._process.kill()
        self._end()

    def outcome(self, body: bytes) -> Outcome:
        """Try one message of a nameless device."""
        return self.outcomes([Trial(body=body)])[0]

    def outcomes(self, trials: Sequence[Trial]) -> list[Outcome]:
        """Try messages in order; raises ``ParserProcessGoneError`` where there is a sandbox."""
        size = _TRIALS_AT_ONCE if self._is_sandboxed else 1
        return [one for some in batched(trials, size, strict=False) for one in self._answered(some)]

    def _answered(self, trials: Sequence[Trial]) -> Sequence[Outcome]:
        lines = [trials] if self._process is not None else [self.subject, trials]
        process = self._started()
        questions, answers = _pipes_of(process)
        self._is_late = False
        timer = threading.Timer(self._patience_s(trials), self._kill_late, [process])
        timer.daemon = True  # Ctrl-C may come before it is cancelled: nobody waits for it
        try:
            timer.start()
            questions.writelines(msgspec.json.encode(line) + b"\n" for line in lines)
            questions.flush()
            answer = answers.readline()
        except OSError:  # it ended before it had read all
            answer = b""
        finally:
            timer.cancel()
        return _outcomes.decode(answer) if answer else self._gone(trials)

    def _gone(self, trials: Sequence[Trial]) -> Sequence[Outcome]:
        status = self._end()
        limit_s = self._patience_s(trials)
        ended = f"did not answer for {limit_s:g} s" if self._is_late else f"ended: status {status}"
        if self._is_sandboxed:
            raise ParserProcessGoneError(self.subject.rule.use, ended)
        reason = "timeout" if self._is_late else "crashed"
        return [Outcome(reason=reason, detail=f"the process {ended}", parse_us=0)]

    def _patience_s(self, trials: Sequence[Trial]) -> float:
        """Twice what each message may take, as each may be tried again; and time to load."""
        return self._base_patience_s + 2 * self.subject.assignment.kill_s * len(trials)

    def _kill_late(self, process: subprocess.Popen[bytes]) -> None:
        self._is_late = True
        process.kill()

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            is_sandboxed = json.dumps(self._is_sandboxed)
            self._process = subprocess.Popen(  # noqa: S603 - Python, with code of our own
                [sys.executable, "-c", _STARTED_AS, json.dumps(sys.path), is_sandboxed],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=environment_with(self._variables),
                process_group=0,  # a terminal's Ctrl-C is for this process, which ends that one
            )
        return self._process

    def _end(self) -> int | None:
        process, self._process = self._process, None
        if process is None:
            return None
        questions, answers = _pipes_of(process)
        try:
            questions.close()
        except OSError:
            process.kill()
        answers.close()
        try:
            return process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait()


def _pipes_of(process: subprocess.Popen[bytes]) -> tuple[IO[bytes], IO[bytes]]:
    assert process.stdin is not None, "it is a pipe"
    assert process.stdout is not None, "it is a pipe"
    return process.stdin, process.stdout


def has_sandbox() -> bool:
    """Whether limits are enforced here as in the jobs: on Linux."""
    return sys.platform == "linux"


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Microseconds for one message, over so many rounds. ``reason`` is set if it failed."""

    body_bytes: int
    rounds: int
    median_us: int
    p99_us: int
    limit_ms: int
    events: int
    reason: str | None
    detail: str


def timed(process: ParserProcess, trial: Trial) -> Timing:
    """Parse a message again and again, for three seconds at most, once it is warm."""
    outcome = process.outcomes([trial])[0]
    took_us = sorted(_rounds(process, trial)) if outcome.is_well_behaved else [outcome.parse_us]
    return Timing(
        body_bytes=len(trial.body),
        rounds=len(took_us),
        median_us=took_us[len(took_us) // 2],
        p99_us=took_us[len(took_us) * 99 // 100],
        limit_ms=process.subject.limit_ms,
        events=len(outcome.events),
        reason=outcome.reason,
        detail=outcome.detail,
    )


def _rounds(process: ParserProcess, trial: Trial) -> list[int]:
    process.outcomes([trial] * _ROUNDS_AT_ONCE)
    took_us: list[int] = []
    give_up_s = time.monotonic() + SECONDS_MAX
    while len(took_us) < ROUNDS_MAX and time.monotonic() < give_up_s:
        took_us += [one.parse_us for one in process.outcomes([trial] * _ROUNDS_AT_ONCE)]
    return took_us
