"""The stand-in without children, for machines that are no Linux: the same results, less safety."""

import subprocess
import sys

import pytest

from fleetlane.parsers.sandbox.budgets import TimeBudget
from fleetlane.parsers.sandbox.in_process import InProcess
from fleetlane.parsers.sandbox.results import Verdict
from fleetlane.parsers.sandbox.runs import Program
from fleetlane.parsers.sandbox.worker.sandboxes import Sandboxes
from tests.unit.parsers.sandbox.conftest import (
    Install,
    Outcomes,
    body_of,
    no_time_limit,
    program,
    run_of,
)
from tests.unit.parsers.sandbox.hostile_parser import Hostile

JSON = program("json", None)


@pytest.mark.parametrize(
    ("kind", "verdict"),
    [
        ("good", Verdict.OK),
        ("malformed", Verdict.MALFORMED),
        ("fails", Verdict.PARSER_FAILED),
        ("loops", Verdict.TIMEOUT),
        ("sleeps", Verdict.TIMEOUT),
        ("flood", Verdict.TOO_MANY_EVENTS),
        ("large-event", Verdict.EVENT_TOO_LARGE),
    ],
)
def test_what_python_can_interrupt_is_distinguished_here_too(
    hostile: Program, kind: str, verdict: Verdict
) -> None:
    run = run_of(hostile, [body_of(0), body_of(1, kind), body_of(2)])

    outcomes = Outcomes(run, InProcess({hostile: Hostile()}).parsed(run, no_time_limit()))

    assert outcomes.verdicts == {0: Verdict.OK, 1: verdict, 2: Verdict.OK}


def test_both_ways_give_the_same_records(sandboxes: Sandboxes) -> None:
    run = run_of(JSON, [b'[{"n": %d}, {"n": 2}]' % number for number in range(300)])

    found = [
        [record for result in one.parsed(run, no_time_limit()) for record in result.records]
        for one in (InProcess(), sandboxes)
    ]

    assert found[0] == found[1]


def test_a_parser_that_cannot_be_loaded_fails_its_messages() -> None:
    run = run_of(program("nobodys==1.0", None), [b""])

    outcomes = Outcomes(run, InProcess().parsed(run, no_time_limit()))

    assert outcomes.verdicts == {0: Verdict.PARSER_FAILED}
    assert "no parser 'nobodys==1.0'" in outcomes.details[0]


def test_two_versions_of_one_parser_each_come_from_their_own_place(install: Install) -> None:
    code = "class Parser:\n    def parse(self, message):\n        yield {'version': %d}\n"
    uses = ["twofold==1.0", "twofold==2.0"]
    programs = [
        program(use, install(use, "twofold:Parser", code % number))
        for number, use in enumerate(uses)
    ]
    parsers = InProcess()

    versions = [
        Outcomes(run, parsers.parsed(run, no_time_limit())).events[0]
        for run in (run_of(one, [b""]) for one in programs)
    ]

    assert versions == [[{"version": 0}], [{"version": 1}]]


def test_time_is_charged_here_too(hostile: Program) -> None:
    run = run_of(hostile, [body_of(number, "sleeps") for number in range(5)], parse_s=0.1)

    outcomes = Outcomes(
        run, InProcess({hostile: Hostile()}).parsed(run, TimeBudget(flow_s_max=0.1))
    )

    assert outcomes.verdicts[0] is Verdict.TIMEOUT
    assert outcomes.verdicts[4] is Verdict.NOT_TRIED


def test_it_needs_nothing_that_only_linux_has() -> None:
    code = """
import sys
for missing in ("fcntl", "resource"):
    sys.modules[missing] = None
sys.platform = "darwin"
from fleetlane.parsers.sandbox.platforms import sandboxes_for_this_system
print(type(sandboxes_for_this_system()).__name__)
"""

    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert found.stdout == "InProcess\n"
