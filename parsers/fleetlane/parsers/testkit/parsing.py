"""A parser's process: tries messages that come as lines of JSON, and answers in lines.

Started by ``parser_process``. The first line is the subject, each other one a list of trials, and
an answer the list of their outcomes. What a parser prints goes to standard error.
"""

import logging
import os
import sys
from collections import defaultdict
from collections.abc import Sequence

import msgspec

from fleetlane.events.canonical import MessageFacts, canonical_event_from
from fleetlane.parsers.sandbox.budgets import NO_END_S, TimeBudget
from fleetlane.parsers.sandbox.in_process import InProcess
from fleetlane.parsers.sandbox.platforms import ParsesRuns, sandboxes_for_this_system
from fleetlane.parsers.sandbox.results import Attempt, Verdict
from fleetlane.parsers.sandbox.runs import Run, envelope_of
from fleetlane.parsers.testkit.trials import Outcome, Subject, Trial, TrialEvent

_trials = msgspec.json.Decoder(tuple[Trial, ...])


def main(*, is_sandboxed: bool) -> None:
    logging.disable()  # the outcomes are enough
    questions, answers = sys.stdin.buffer, os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    first = questions.readline()
    if not first.endswith(b"\n"):
        return  # the caller has ended meanwhile
    subject = msgspec.json.decode(first, type=Subject)
    if subject.location is not None and not is_sandboxed:
        sys.path.insert(0, subject.location)  # a child of the sandbox does it by itself
    sandboxes = sandboxes_for_this_system() if is_sandboxed else InProcess()
    for line in questions:
        outcomes = outcomes_of(sandboxes, subject, _trials.decode(line))
        answers.write(msgspec.json.encode(outcomes) + b"\n")
        answers.flush()
    sandboxes.close()


def outcomes_of(sandboxes: ParsesRuns, subject: Subject, trials: Sequence[Trial]) -> list[Outcome]:
    senders = [  # the raw id is the message's place, by which its events are found
        MessageFacts(str(place), trial.device_id, subject.flow.stream, trial.arrival_millis)
        for place, trial in enumerate(trials)
    ]
    run = Run(
        program=subject.program,
        assignment=subject.assignment,
        envelopes=[envelope_of(sender) for sender in senders],
        bodies=[trial.body for trial in trials],
        encodings={place: one.encoding for place, one in enumerate(trials) if one.encoding},
    )
    attempts: dict[int, Attempt] = {}
    events: defaultdict[int, list[TrialEvent]] = defaultdict(list)
    for result in sandboxes.parsed(run, TimeBudget(flow_s_max=NO_END_S)):
        attempts.update(result.attempts)
        for record in result.records:
            canonical = canonical_event_from(record.value)
            event = TrialEvent(
                topic=record.topic,
                key=record.key.decode(),
                time=canonical.time,
                time_quality=canonical.timequality,
                data=canonical.data,
            )
            events[int(canonical.rawid)].append(event)
    return [
        Outcome(
            reason="crashed" if one.verdict is Verdict.NOT_TRIED else one.verdict.reason,
            detail=one.detail,
            parse_us=one.parse_us,
            events=tuple(events[place]),
        )
        for place, one in sorted(attempts.items())
    ]
