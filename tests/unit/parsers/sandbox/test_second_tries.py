"""What fails is tried once more in a fresh child, as long as that is not all that is done."""

from contextlib import closing
from pathlib import Path

import pytest

from fleetlane.events.token_bucket import TokenBucket
from fleetlane.parsers.sandbox.budgets import OutputBudget, TimeBudget
from fleetlane.parsers.sandbox.results import Verdict
from fleetlane.parsers.sandbox.runs import Program
from fleetlane.parsers.sandbox.worker.sandboxes import Sandboxes
from tests.unit.parsers.sandbox.conftest import Install, children_of, outcomes_of, program, run_of

ONCE_A_PROCESS = """
class OnceAProcess:
    parsed = 0

    def parse(self, message):
        OnceAProcess.parsed += 1
        if OnceAProcess.parsed > 1:
            raise ValueError("not again")
        yield {}
"""


def test_without_second_tries_left_a_failure_stands_and_nobody_is_deferred(
    install: Install,
) -> None:
    site = install("once==1.0", "once:OnceAProcess", ONCE_A_PROCESS)
    run = run_of(program("once==1.0", site), [b"", b""])
    sandboxes = Sandboxes(retries=TokenBucket.by_name(burst=1, per_s=0))

    found = [list(outcomes_of(sandboxes, run).verdicts.items()) for _ in range(2)]
    sandboxes.close()

    assert [sorted(one) for one in found] == [
        [(0, Verdict.OK), (1, Verdict.OK)],
        [(0, Verdict.PARSER_FAILED), (1, Verdict.PARSER_FAILED)],
    ]


SLOW_ALONE = """
import signal, sys, time

SERVER = sys.modules["fleetlane.parsers.sandbox.child.main"]._Server
ANSWER, LAST = SERVER._answer, []

def answer(self, request, descriptors):
    LAST[:] = [request.messages]
    ANSWER(self, request, descriptors)

SERVER._answer = answer

class SlowAlone:
    def parse(self, message):
        if LAST == [1]:
            signal.setitimer(signal.ITIMER_REAL, 0)
            time.sleep(0.25)
        raise ValueError("always")
"""
"""Quick where it is asked for many messages, and just within the limit where it is for one."""


def test_second_tries_end_once_their_flow_has_used_up_its_time(
    sandboxes: Sandboxes, install: Install
) -> None:
    site = install("slow-alone==1.0", "slow_alone:SlowAlone", SLOW_ALONE)
    run = run_of(program("slow-alone==1.0", site), [b""] * 40, parse_s=0.3)
    budget = TimeBudget(flow_s_max=0.1, overdraft_s_max=0.1)

    outcomes = outcomes_of(sandboxes, run, budget)

    assert {*outcomes.verdicts.values()} == {Verdict.PARSER_FAILED}
    assert budget.left_us(run.assignment) > -1e6 * (0.1 + 4 * run.assignment.kill_s)


FIRST_FAILS = """
import os, time
from pathlib import Path

FIRST = Path({first!r})

def state_of(pid):
    stat = Path(f"/proc/{{pid}}/stat")
    return stat.read_text().rpartition(") ")[2][0] if stat.exists() else "gone"

class FirstFails:
    def parse(self, message):
        if not FIRST.exists():
            FIRST.write_text(str(os.getpid()))
        first = FIRST.read_text()
        if first == str(os.getpid()):
            raise ValueError("as always here")
        until_s = time.monotonic() + 5
        while state_of(first) not in ("T", "gone") and time.monotonic() < until_s:
            time.sleep(0.01)  # a signal comes once its process has a CPU
        yield {{"first": state_of(first)}}
"""
"""The first process fails always; any other sees what the first does meanwhile."""


@pytest.fixture
def first_fails(install: Install, tmp_path: Path) -> Program:
    code = FIRST_FAILS.format(first=str(tmp_path / "first"))
    return program("first-fails==1.0", install("first-fails==1.0", "first_fails:FirstFails", code))


def test_during_a_second_try_the_first_child_stands_still(
    sandboxes: Sandboxes, first_fails: Program
) -> None:
    outcomes = outcomes_of(sandboxes, run_of(first_fails, [b""], parse_s=10))

    assert outcomes.events == {0: [{"first": "T"}]}


def test_a_child_that_parses_what_another_could_not_lives_on_in_its_place(
    first_fails: Program,
) -> None:
    once = TokenBucket.by_name(burst=1, per_s=0)
    with closing(Sandboxes(retries=once, parts=())) as sandboxes:
        runs = [outcomes_of(sandboxes, run_of(first_fails, [b""] * count)) for count in (1, 2)]

        assert [len(children_of(sandboxes._zygote.pid))] == [1]

    assert [{*one.verdicts.values()} for one in runs] == [{Verdict.OK}, {Verdict.OK}]


FORGED = """
import sys
from array import array

from fleetlane.parsers.sandbox.canonical_records import Columns
from fleetlane.parsers.sandbox.packets import Reply, reply_packets
from fleetlane.parsers.sandbox.results import NO_TIME, notes_of

EVENTS, KEY = 20_000, b"d-0/2026-11-03T14"
COLUMNS = Columns()
COLUMNS.append_message(bytes(EVENTS), [KEY] * EVENTS, [b'"timequality":"ok","data":{}}'] * EVENTS)
KEYS = KEY * (EVENTS - 1) + b"x" * len(KEY)
ENDS = memoryview(array("i", range(0, len(KEYS) + 1, len(KEY))))

def sent(self, request, done, *_):
    notes = notes_of([0, EVENTS, 10, NO_TIME, NO_TIME])
    first, written = request.first + done, COLUMNS.values
    reply = Reply(
        mark=request.mark, first=first, messages=1, events=EVENTS, key_bytes=len(KEYS),
        value_bytes=len(written), detail_bytes=0, charged_us=0, charged_bytes=0, is_retiring=0,
    )
    columns = ENDS, memoryview(COLUMNS.value_ends), COLUMNS.topic_indexes, KEYS, written, b""
    for packet in reply_packets(reply, (*notes, *columns)):
        self._connection.sendmsg(packet)

sys.modules["fleetlane.parsers.sandbox.child.main"]._Server._send = sent

class Forged:
    def parse(self, message):
        yield {}
"""
"""Replies with many events, of which the last has a key that its message does not have."""


def test_replies_that_are_refused_are_charged_what_they_would_have_put_out(
    sandboxes: Sandboxes, install: Install
) -> None:
    run = run_of(program("forged==1.0", install("forged==1.0", "forged:Forged", FORGED)), [b""] * 6)
    output = OutputBudget(flow_bytes_max=4 << 20, batch_bytes_max=64 << 20)
    budget = TimeBudget(flow_s_max=60, output=output)

    verdicts = [*outcomes_of(sandboxes, run, budget).verdicts.values()]

    assert {*verdicts} == {Verdict.CRASHED, Verdict.SHARE_USED_UP}
    assert verdicts.count(Verdict.CRASHED) <= 3
