"""A parser in a process of its own: each message's outcome, whatever the parser does."""

import subprocess
import sys
from typing import Final

import msgspec
import pytest

from fleetlane.parsers.testkit.parser_process import ParserProcess, ParserProcessGoneError
from fleetlane.parsers.testkit.trials import Trial
from tests.unit.parsers.testkit.conftest import Subjects

INTERRUPTED: Final = """
import sys, threading
from contextlib import suppress

import msgspec

from fleetlane.parsers.testkit.parser_process import ParserProcess
from fleetlane.parsers.testkit.trials import Subject
from tests.interrupt import interrupts

subject = msgspec.json.decode(sys.argv[1], type=Subject)
code = ParserProcess._answered.__code__
for interrupt in interrupts(lambda at, kind: kind == "line" and at.f_code is code):
    with suppress(KeyboardInterrupt), ParserProcess(subject) as process, interrupt:
        process.outcome(b"")
    awaited = {one for one in threading.enumerate() if not one.daemon}
    assert awaited == {threading.main_thread()}, f"line {interrupt.place}"
"""


@pytest.mark.parametrize(
    ("name", "body", "reason", "detail"),
    [
        ("needs-two", b"", "malformed", "0 bytes; at least 2"),
        ("index-error", b"abc", "parser_failed", "IndexError: index out of range"),
        ("not-json", b"n", "malformed", "an event holds what JSON does not"),
        ("exits", b"x", "crashed", "exit code 3"),
        ("hangs", b"h", "timeout", "not parsed within"),
    ],
)
def test_a_message_that_is_not_parsed_says_why(
    subject_of: Subjects, name: str, body: bytes, reason: str, detail: str
) -> None:
    with ParserProcess(subject_of(name)) as process:
        outcome = process.outcome(body)

    assert (outcome.reason, detail in outcome.detail) == (reason, True)


@pytest.mark.parametrize("is_sandboxed", [True, False])
def test_messages_come_out_in_order_past_one_that_kills_its_process(
    subject_of: Subjects, *, is_sandboxed: bool
) -> None:
    bodies = [b"a", b"bb", b"x", b"ccc"]

    with ParserProcess(subject_of("exits"), is_sandboxed=is_sandboxed) as process:
        outcomes = process.outcomes([Trial(body=body) for body in bodies])

    assert [one.data for one in outcomes] == [[{"size": 1}], [{"size": 2}], [], [{"size": 3}]]


def test_without_the_sandbox_what_cannot_be_interrupted_is_killed(subject_of: Subjects) -> None:
    hangs = subject_of("hangs-in-c")

    with ParserProcess(hangs, is_sandboxed=False, patience_s=1) as process:
        outcome = process.outcome(b"h")

    assert (outcome.reason, "did not answer" in outcome.detail) == ("timeout", True)


def test_ctrl_c_at_any_line_of_a_trial_leaves_nothing_that_the_exit_waits_for(
    subject_of: Subjects,
) -> None:
    command = [sys.executable, "-c", INTERRUPTED, msgspec.json.encode(subject_of("good")).decode()]

    run = subprocess.run(command, capture_output=True, text=True, check=False)

    assert (run.returncode, run.stderr) == (0, "")


def test_a_parser_that_is_not_there_fails_its_messages(subject_of: Subjects) -> None:
    subject = msgspec.structs.replace(subject_of("good"), location="/there-is-no-such-folder")

    with ParserProcess(subject) as process:
        outcome = process.outcome(b"")

    assert (outcome.reason, "no parser 'good==1.0'" in outcome.detail) == ("parser_failed", True)


def test_a_process_that_ends_before_it_has_read_its_subject_is_gone(subject_of: Subjects) -> None:
    subject = subject_of("good")
    rule = msgspec.structs.replace(subject.rule, options={"text": "x" * 1_000_000})
    subject = msgspec.structs.replace(subject, rule=rule)

    with (
        ParserProcess(subject, variables={"PYTHONHOME": "/there-is-no-such-folder"}) as process,
        pytest.raises(ParserProcessGoneError, match="ended: status 1"),
    ):
        process.outcome(b"")


def test_it_needs_nothing_that_only_posix_has() -> None:
    code = """
import sys
for missing in ("fcntl", "resource", "pwd", "grp", "termios"):
    sys.modules[missing] = None
import fleetlane.parsers.testkit.parsing
import fleetlane.parsers.testkit.checking
import fleetlane.parsers.testkit.parser_process
import fleetlane.cli.main
import fleetlane.cli.commands.parser.diff, fleetlane.parsers.artifacts.building
"""

    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )

    assert found.stderr == ""
