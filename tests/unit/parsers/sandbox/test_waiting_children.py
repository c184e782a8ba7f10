"""What a parser's process does while no run is given to it: nothing."""

import os
import time
from pathlib import Path

import pytest

from fleetlane.parsers.sandbox.budgets import TimeBudget
from fleetlane.parsers.sandbox.results import Verdict
from fleetlane.parsers.sandbox.runs import Program
from fleetlane.parsers.sandbox.stopwatch import cpu_ns
from fleetlane.parsers.sandbox.worker.sandboxes import Sandboxes
from tests.unit.parsers.sandbox.conftest import Install, children_of, outcomes_of, program, run_of
from tests.unit.parsers.sandbox.machine import descendants_of, wait_until

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


def test_a_child_goes_on_while_it_may_and_stands_still_afterwards(
    sandboxes: Sandboxes, busy: Program
) -> None:
    with sandboxes.awake():
        outcomes_of(sandboxes, run_of(busy, [b""], parse_s=2))
        [child] = children_of(sandboxes._zygote.pid)
        time.sleep(0.1)
        stood_still = is_stopped(child)

    assert not stood_still
    assert wait_until(lambda: is_stopped(child))


def test_a_child_that_went_on_stands_still_once_another_parses(
    sandboxes: Sandboxes, busy: Program
) -> None:
    with sandboxes.awake():
        outcomes_of(sandboxes, run_of(busy, [b""], parse_s=2))
        [child] = children_of(sandboxes._zygote.pid)
        outcomes_of(sandboxes, run_of(program("json", None), [b"{}"], parse_s=2))

        assert wait_until(lambda: is_stopped(child))


def test_a_child_is_charged_for_what_it_does_while_it_goes_on(
    sandboxes: Sandboxes, busy: Program
) -> None:
    budget = TimeBudget(flow_s_max=100)
    run = run_of(busy, [b""], parse_s=2)
    with sandboxes.awake():
        outcomes_of(sandboxes, run, budget)
        [child] = children_of(sandboxes._zygote.pid)
        before_us, used_ns = budget.left_us(run.assignment), cpu_ns(child)[0]
        assert wait_until(lambda: cpu_ns(child)[0] - used_ns > 400_000_000)
        outcomes_of(sandboxes, run, budget)

    assert before_us - budget.left_us(run.assignment) > 100_000


def test_a_child_gives_back_the_memory_that_large_messages_took(sandboxes: Sandboxes) -> None:
    json = program("json", None)
    large = [b"[{}%s]" % (b" " * (mib << 20)) for mib in (16, 14, 12)]

    kib_after = list[int]()
    for body in (b"[{}]", *large, b"[{}]"):
        assert outcomes_of(sandboxes, run_of(json, [body], parse_s=5)).verdicts[0] is Verdict.OK
        kib_after.append(max(map(private_kib, descendants_of(os.getpid()))))

    assert kib_after[-1] - kib_after[0] < 8 << 10


def private_kib(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):  # of a test before, and gone since
        return 0
    return next(int(line.split()[1]) for line in lines if line.startswith("Private_Dirty:"))
