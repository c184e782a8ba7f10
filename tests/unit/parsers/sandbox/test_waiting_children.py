"""What a parser's process does while no run is given to it: nothing."""

from pathlib import Path

import pytest

from fleetlane.parsers.sandbox.results import Verdict
from fleetlane.parsers.sandbox.runs import Program
from fleetlane.parsers.sandbox.worker.sandboxes import Sandboxes
from tests.unit.parsers.sandbox.conftest import Install, children_of, outcomes_of, program, run_of
from tests.unit.parsers.sandbox.machine import wait_until

BUSY = """
import threading

def work():
    while True:
        pass

class Busy:
    def __init__(self):
        threading.Thread(target=work, daemon=True).start()

    def parse(self, message):
        yield {}
"""
"""Its thread is there before any message: none of them left it."""


@pytest.fixture
def busy(install: Install) -> Program:
    return program("busy==1.0", install("busy==1.0", "busy:Busy", BUSY))


def is_stopped(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].startswith("T")


def test_a_child_that_waits_for_a_run_stands_still(sandboxes: Sandboxes, busy: Program) -> None:
    outcomes_of(sandboxes, run_of(busy, [b""], parse_s=2))
    [child] = children_of(sandboxes._zygote.pid)

    assert wait_until(lambda: is_stopped(child))


def test_a_child_that_was_only_loaded_stands_still(sandboxes: Sandboxes, busy: Program) -> None:
    sandboxes.loaded(busy, "acme")
    [child] = children_of(sandboxes._zygote.pid)

    assert wait_until(lambda: is_stopped(child))


def test_a_child_that_waited_parses_the_next_run(sandboxes: Sandboxes, busy: Program) -> None:
    outcomes_of(sandboxes, run_of(busy, [b""], parse_s=2))
    [child] = children_of(sandboxes._zygote.pid)

    outcomes = outcomes_of(sandboxes, run_of(busy, [b"", b""], parse_s=2))

    assert outcomes.verdicts == {0: Verdict.OK, 1: Verdict.OK}
    assert children_of(sandboxes._zygote.pid) == [child]
