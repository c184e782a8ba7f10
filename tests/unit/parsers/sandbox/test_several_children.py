"""A slow parser has several children at once; what comes of its messages is as of one."""

import os
import signal
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from itertools import chain, groupby
from pathlib import Path

import pytest

from fleetlane.events.token_bucket import TokenBucket
from fleetlane.parsers.sandbox.budgets import SEVERAL_FROM_US, TimeBudget
from fleetlane.parsers.sandbox.results import Verdict
from fleetlane.parsers.sandbox.runs import Program, Run
from fleetlane.parsers.sandbox.worker.sandboxes import CHILDREN_MAX, Sandboxes
from tests.unit.parsers.sandbox.conftest import (
    Install,
    Outcomes,
    body_of,
    no_time_limit,
    program,
    run_of,
)

CHILDREN = 4
SLEEPING = """
import os, time

class Sleeping:
    def parse(self, message):
        time.sleep(float(message))
        yield {"child": os.getpid()}
"""
SLOW, QUICK = b"0.003", b"0"


@pytest.fixture(scope="module")
def sleeping(install: Install) -> Program:
    return program("sleeping==1.0", install("sleeping==1.0", "sleeping:Sleeping", SLEEPING))


def parsed(sandboxes: Sandboxes, run: Run, budget: TimeBudget) -> Outcomes:
    outcomes = Outcomes(run, sandboxes.parsed(run, budget, children_max=CHILDREN))
    assert list(outcomes.verdicts) == list(range(len(run.bodies))), "in order, each once"
    return outcomes


def children_in(outcomes: Outcomes) -> list[int]:
    """Of each message in turn, neighbours of one child once."""
    children = (events[0]["child"] for events in outcomes.events.values())
    return [child for child, _ in groupby(children)]


def test_messages_of_a_parser_that_was_slow_are_of_several_children_and_in_order(
    sandboxes: Sandboxes, sleeping: Program
) -> None:
    budget = no_time_limit()
    first = parsed(sandboxes, run_of(sleeping, [SLOW] * 30), budget)
    second = parsed(sandboxes, run_of(sleeping, [SLOW] * 1_030), budget)

    assert len(children_in(first)) == 1
    assert len(children_in(second)) == len({*children_in(second)}) == CHILDREN


@pytest.mark.parametrize(("messages", "children"), [(1, 1), (2, 2), (5, 4)])
def test_there_are_no_more_children_than_messages(
    sandboxes: Sandboxes, sleeping: Program, messages: int, children: int
) -> None:
    budget = no_time_limit()
    parsed(sandboxes, run_of(sleeping, [SLOW] * 8), budget)

    assert (
        len(children_in(parsed(sandboxes, run_of(sleeping, [SLOW] * messages), budget))) == children
    )


def test_a_quick_parser_and_one_that_may_have_no_more_have_one_child(
    sandboxes: Sandboxes, sleeping: Program
) -> None:
    quick, slow = no_time_limit(), no_time_limit()
    quick_run, slow_run = (run_of(sleeping, [body] * 40) for body in (QUICK, SLOW))
    for run, budget in ((quick_run, quick), (slow_run, slow)):
        parsed(sandboxes, run, budget)

    assert len(children_in(parsed(sandboxes, quick_run, quick))) == 1
    assert len(children_in(Outcomes(slow_run, sandboxes.parsed(slow_run, slow)))) == 1


def test_what_fails_in_one_child_is_no_matter_of_the_others(
    sandboxes: Sandboxes, sleeping: Program, hostile: Program
) -> None:
    budget = no_time_limit()
    parsed(sandboxes, run_of(sleeping, [SLOW] * 30), budget)  # of the same stream
    kinds = {3: "fails", 25: "segfaults", 50: "loops", 75: "exits"}
    bodies = [body_of(place, kinds.get(place, "good")) for place in range(100)]
    run = run_of(hostile, bodies)
    assert budget.is_slow(run.assignment)

    outcomes = Outcomes(run, sandboxes.parsed(run, budget, children_max=CHILDREN))

    wanted = {
        3: Verdict.PARSER_FAILED,
        25: Verdict.CRASHED,
        50: Verdict.TIMEOUT,
        75: Verdict.CRASHED,
    }
    assert outcomes.verdicts == dict.fromkeys(range(100), Verdict.OK) | wanted


def test_a_run_that_is_left_half_way_leaves_nothing_to_the_next(
    sandboxes: Sandboxes, sleeping: Program
) -> None:
    budget = no_time_limit()
    run = run_of(sleeping, [SLOW] * 60)
    parsed(sandboxes, run, budget)
    results = sandboxes.parsed(run, budget, children_max=CHILDREN)
    next(results)
    results.close()  # type: ignore[attr-defined] # a generator

    assert set(parsed(sandboxes, run, budget).verdicts.values()) == {Verdict.OK}


def test_the_children_of_one_run_make_no_room_for_each_other(sleeping: Program) -> None:
    with closing(Sandboxes(parts=(), waiting_bytes_max=1)) as sandboxes:
        budget = no_time_limit()
        parsed(sandboxes, run_of(sleeping, [SLOW] * 30), budget)

        outcomes = parsed(sandboxes, run_of(sleeping, [SLOW] * 30), budget)

    assert set(outcomes.verdicts.values()) == {Verdict.OK}


def test_each_child_may_use_its_share_of_what_the_flow_has_left() -> None:
    assignment = run_of(program("json", None), []).assignment
    budget = TimeBudget(flow_s_max=4.0, overdraft_s_max=2.0)
    whole, shared = (budget.allowance(assignment, sharers=count) for count in (1, CHILDREN))

    assert shared[:2] == (whole.budget_us // CHILDREN, whole.overdraft_us // CHILDREN)
    assert shared.short_us == whole.short_us


def test_what_is_slow_is_known_by_what_messages_took() -> None:
    assignment = run_of(program("json", None), []).assignment
    budget = no_time_limit()
    found = list[bool]()
    for parse_us in (SEVERAL_FROM_US // 2, 3 * SEVERAL_FROM_US):
        budget.charge(assignment, 0, [parse_us] * 2_000)
        found.append(budget.is_slow(assignment))

    assert found == [False, True]


FLAGGED = """
import os, tempfile, time
from pathlib import Path

if Path({flag!r}).exists():
    raise RuntimeError("it cannot be loaded any more")

class Flagged:
    def parse(self, message):
        if message == b"files":
            folder = Path(tempfile.gettempdir())
            for name in map(str, range(20)):
                with (folder / name).open("wb") as file:
                    file.truncate(16 << 20)
            time.sleep(0.4)
            for name in map(str, range(20)):
                (folder / name).unlink()
        else:
            time.sleep(float(message))
        yield {{"child": os.getpid()}}
"""


@pytest.fixture
def flag(tmp_path: Path) -> Path:
    """While it is there the parser ``flagged`` cannot be loaded."""
    return tmp_path / "flag"


@pytest.fixture
def flagged(install: Install, flag: Path) -> Program:
    code = FLAGGED.format(flag=str(flag))
    return program("flagged==1.0", install("flagged==1.0", "flagged:Flagged", code))


def slow_budget(sandboxes: Sandboxes, flagged: Program) -> TimeBudget:
    """By which the parser, which one child has loaded, is a slow one."""
    budget = no_time_limit()
    outcomes = Outcomes(run := run_of(flagged, [SLOW] * 30), sandboxes.parsed(run, budget))
    assert {*outcomes.verdicts.values()} == {Verdict.OK}
    return budget


def parsed_though_the_zygote_is_killed(
    sandboxes: Sandboxes, run: Run, budget: TimeBudget, at_kill: Callable[[], object]
) -> Outcomes:
    parsed(sandboxes, run, budget)  # all children are there
    results = sandboxes.parsed(run, budget, children_max=CHILDREN)
    first = next(results)  # of the first child, while the others have a second to go
    at_kill()
    os.kill(sandboxes._zygote.pid, signal.SIGKILL)
    return Outcomes(run, chain([first], results))


def test_children_that_died_with_their_zygote_are_not_waited_for(flagged: Program) -> None:
    respawns = TokenBucket.by_name(burst=1_000, per_s=0)
    with closing(Sandboxes(parts=(), respawns=respawns)) as sandboxes:
        budget = slow_budget(sandboxes, flagged)
        run = run_of(flagged, [SLOW] * 10 + [b"0.1"] * 30, parse_s=5)

        outcomes = parsed_though_the_zygote_is_killed(sandboxes, run, budget, lambda: None)

        assert outcomes.verdicts == dict.fromkeys(range(40), Verdict.OK)
        [bucket] = respawns.values()
        assert bucket.left_at(time.monotonic()) >= 1_000 - 2, "at most the first one was blamed"


def test_a_run_ends_though_its_parser_cannot_be_loaded_again_once_the_zygote_was_killed(
    sandboxes: Sandboxes, flagged: Program, flag: Path
) -> None:
    budget = slow_budget(sandboxes, flagged)
    run = run_of(flagged, [SLOW] * 10 + [b"0.1"] * 30, parse_s=5)

    outcomes = parsed_though_the_zygote_is_killed(sandboxes, run, budget, flag.touch)

    assert len(outcomes.verdicts) == 40
    assert Verdict.PARSER_FAILED in outcomes.verdicts.values()


def test_a_child_that_cannot_be_loaded_beside_a_living_one_costs_no_message(
    sandboxes: Sandboxes, flagged: Program, flag: Path
) -> None:
    budget = slow_budget(sandboxes, flagged)
    flag.touch()

    outcomes = parsed(sandboxes, run_of(flagged, [SLOW] * 40), budget)

    assert {*outcomes.verdicts.values()} == {Verdict.OK}
    assert len(children_in(outcomes)) == 1


def test_children_beside_the_first_are_not_started_where_there_is_no_room_for_them(
    sandboxes: Sandboxes, flagged: Program
) -> None:
    programs = [replace(flagged, niceness=number) for number in range(6)]
    budget = slow_budget(sandboxes, flagged)
    runs = [run_of(one, [SLOW] * 8) for one in programs]
    used = list[set[int]]()
    for _ in range(3):
        used.append(
            {child for run in runs for child in children_in(parsed(sandboxes, run, budget))}
        )

    assert used[1] == used[2], "nothing is loaded anew in each round"
    assert len(used[1]) <= CHILDREN_MAX


def test_a_child_that_is_not_read_yet_is_watched(jails: Sandboxes, flagged: Program) -> None:
    budget = slow_budget(jails, flagged)
    run = run_of(flagged, [b"0.1"] * 10 + [b"files"] + [SLOW] * 9, parse_s=2)

    outcomes = Outcomes(run, jails.parsed(run, budget, children_max=2))

    assert outcomes.verdicts[10] is Verdict.CRASHED
    assert "files" in outcomes.details[10]
