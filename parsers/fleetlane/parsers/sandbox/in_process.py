"""Instead of the sandbox, where there is no Linux: parsers run in this very process.

For authors' machines. Python code is cut at the time limit where the system has an interval timer
(not on Windows), and events are capped; a parser that crashes, hangs in C or eats the memory
takes this process with it. What a parser imports only while it parses is not found in its artifact.
"""

import array
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial

from fleetlane.parsers.contract import Parser, accepts_buffer
from fleetlane.parsers.registry import load_parser
from fleetlane.parsers.sandbox.budgets import TimeBudget
from fleetlane.parsers.sandbox.canonical_records import CanonicalRecords, Columns
from fleetlane.parsers.sandbox.child.attempts import Attempts
from fleetlane.parsers.sandbox.record_identity import with_identity
from fleetlane.parsers.sandbox.results import Attempt, NotedAttempts, Part, Result, Verdict
from fleetlane.parsers.sandbox.runs import Body, Loaded, Program, Run, TimeAllowance, with_encodings
from fleetlane.parsers.sandbox.stopwatch import run_queue_ns


class InProcess:
    """Parses runs as ``Sandboxes`` does, without children."""

    def __init__(self, parsers: Mapping[Program, Parser] | None = None) -> None:
        """Take parsers that are loaded already; the others are loaded when a run needs them."""
        self._parsers: dict[Program, Parser | Attempt] = dict(parsers or {})

    def parsed(self, run: Run, budget: TimeBudget, *, children_max: int = 1) -> Iterator[Result]:
        parser, place = self._loaded(run.program), 0
        if isinstance(parser, Attempt):
            attempts = [(place, parser) for place in range(len(run.bodies))]
            yield Result(attempts, Columns().taken(run.assignment.topics))
            return
        while place < len(run.bodies):
            part, records = _part(run, parser, place, budget.allowance(run.assignment))
            budget.charge(run.assignment, part.charged_us, part.notes.parse_us)
            budget.output.charge(run.assignment.flow.stream, part.charged_bytes)
            yield Result(NotedAttempts(part, first=place), records)
            place += part.messages

    def loaded(self, program: Program, owner: str) -> Loaded:
        parser = self._loaded(program)
        if isinstance(parser, Attempt):
            return Loaded(parser.detail)
        return Loaded(accepts_buffer=accepts_buffer(parser))

    def awake(self) -> AbstractContextManager[None]:
        return nullcontext()

    def rest(self) -> None:
        """Nothing runs on by itself."""

    def jail_problems(self) -> dict[str, str]:
        return {"all": "this is not Linux"}

    def close(self) -> None:
        """Nothing is left to end."""

    def _loaded(self, program: Program) -> Parser | Attempt:
        found = self._parsers.get(program)
        if found is None:
            try:
                found = _loaded_alone(program)
            except Exception as problem:  # noqa: BLE001 - importing a parser runs code that is not ours
                found = Attempt(Verdict.PARSER_FAILED, f"{type(problem).__name__}: {problem}")
            self._parsers[program] = found
        return found


def _loaded_alone(program: Program) -> Parser:
    """Load a parser so that another version of it is imported next, not its modules again."""
    options, before = json.loads(program.options), set(sys.modules)
    if program.location is None:
        return load_parser(program.use, options)
    try:
        return load_parser(program.use, options, program.location)
    finally:
        sys.path.remove(program.location)
        for name in set(sys.modules) - before:
            origin = getattr(sys.modules[name], "__file__", None) or ""
            if origin.startswith(program.location + os.sep):
                del sys.modules[name]


def _part(
    run: Run, parser: Parser, first: int, allowance: TimeAllowance
) -> tuple[Part, CanonicalRecords]:
    bodies: Sequence[Body] = run.bodies[first:]
    if accepts_buffer(parser):
        bodies = [memoryview(body) for body in bodies]
    encodings = {place - first: name for place, name in run.encodings.items()}
    progress, waited_ns = memoryview(array.array("q", [0])), partial(run_queue_ns, os.getpid())
    attempts = Attempts(run.assignment, parser, allowance, progress, waited_ns)
    part = attempts.part(
        zip(run.envelopes[first:], with_encodings(bodies, encodings), strict=True),
        len(bodies),
        mark=first,
    )
    tails = attempts.columns.taken(run.assignment.topics)
    envelopes = run.envelopes[first : first + part.messages]
    return part, with_identity(tails, envelopes, part.notes.events, run.assignment)
