"""What a worker's sandboxes promise beyond one message: versions, budgets, and a clean end."""

import logging
import os
import signal
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from fleetlane.events.token_bucket import TokenBucket
from fleetlane.parsers.sandbox.budgets import TimeBudget
from fleetlane.parsers.sandbox.packets import Request
from fleetlane.parsers.sandbox.results import DETAIL_CHARS_MAX, Verdict
from fleetlane.parsers.sandbox.runs import Program
from fleetlane.parsers.sandbox.shared_buckets import SharedBuckets
from fleetlane.parsers.sandbox.shared_memory import WorkerMemory
from fleetlane.parsers.sandbox.worker.children import LOAD_USUAL_S, Loads
from fleetlane.parsers.sandbox.worker.parser_child import ParserChild
from fleetlane.parsers.sandbox.worker.sandboxes import CHILDREN_MAX, Sandboxes
from fleetlane.parsers.sandbox.worker.zygote_client import ParserNotLoadedError
from tests.unit.parsers.sandbox.conftest import (
    Install,
    body_of,
    children_of,
    no_time_limit,
    outcomes_of,
    program,
    run_of,
)

VERSIONED = """
VERSION = "{version}"

class Versioned:
    def parse(self, message):
        yield {{"version": VERSION}}
"""


@pytest.fixture
def thrifty() -> Iterator[Sandboxes]:
    """Sandboxes whose parsers may use up three children each, and no more."""
    sandboxes = Sandboxes(respawns=TokenBucket.by_name(burst=3, per_s=0))
    yield sandboxes
    sandboxes.close()


def test_two_versions_of_one_parser_run_side_by_side(
    sandboxes: Sandboxes, install: Install
) -> None:
    programs = [
        program(
            f"versioned=={version}",
            install(
                f"versioned=={version}", "versioned:Versioned", VERSIONED.format(version=version)
            ),
        )
        for version in ("1.0", "2.0")
    ]

    found = [
        outcomes_of(sandboxes, run_of(one, [b""])).events[0][0]["version"]
        for one in (*programs, *programs)
    ]

    assert found == ["1.0", "2.0", "1.0", "2.0"]


LIFTING = """
import mmap, resource
_, hard = resource.getrlimit(resource.RLIMIT_AS)
resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
mmap.mmap(-1, 16 << 30)

class Parser:
    def parse(self, message):
        return ()
"""


def test_a_parser_cannot_lift_its_memory_limit_when_it_is_imported(
    sandboxes: Sandboxes, install: Install
) -> None:
    site = install("lifting==1.0", "lifting:Parser", LIFTING)

    problem = sandboxes.loaded(program("lifting==1.0", site), "acme").problem

    assert problem is not None
    assert "Cannot allocate memory" in problem


SLOW_AND_LEAVING = """
import threading, time
time.sleep(0.3)

class Parser:
    def parse(self, message):
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
        yield {}
"""


def test_loading_a_parser_again_is_charged_to_its_flow_and_uses_up_children(
    thrifty: Sandboxes, install: Install
) -> None:
    site = install("leaving==1.0", "leaving:Parser", SLOW_AND_LEAVING)
    budget = TimeBudget(flow_s_max=100)
    runs = [run_of(program("leaving==1.0", site), [b""]) for _ in range(5)]

    verdicts = [outcomes_of(thrifty, run, budget).verdicts[0] for run in runs]

    assert verdicts[:3] == [Verdict.OK] * 3
    left_us = budget.left_us(runs[0].assignment)
    assert left_us < 100e6 - 2 * 200_000, "two loads behind the first took 300 ms each"


def test_a_parser_whose_child_made_room_for_another_has_used_up_as_many_as_before(
    hostile: Program,
) -> None:
    other = program(hostile.use, hostile.location, greeting="other")
    run = run_of(hostile, [body_of(0, "exits"), body_of(1)])
    few = Sandboxes(respawns=TokenBucket.by_name(burst=2, per_s=0), waiting_bytes_max=0)

    with closing(few) as sandboxes:
        first = outcomes_of(sandboxes, run).verdicts
        outcomes_of(sandboxes, run_of(other, [body_of(0)]))
        second = outcomes_of(sandboxes, run).verdicts

    assert first == {0: Verdict.CRASHED, 1: Verdict.OK}
    assert second == dict.fromkeys((0, 1), Verdict.CHILDREN_USED_UP)


def test_what_a_parser_uses_up_in_one_worker_all_workers_of_a_machine_know(
    hostile: Program, tmp_path: Path
) -> None:
    run = run_of(hostile, [body_of(0, "exits"), body_of(1)])
    one, other = (
        Sandboxes(respawns=SharedBuckets(tmp_path, burst=2, per_s=1e-9)) for _ in range(2)
    )
    with closing(one), closing(other):
        first, second = outcomes_of(one, run).verdicts, outcomes_of(other, run).verdicts

    assert first == {0: Verdict.CRASHED, 1: Verdict.OK}
    assert second == dict.fromkeys((0, 1), Verdict.CHILDREN_USED_UP)


def test_workers_that_name_a_folder_count_children_and_second_tries_in_it(
    hostile: Program, tmp_path: Path
) -> None:
    with closing(Sandboxes(shared=tmp_path)) as sandboxes:
        outcomes_of(sandboxes, run_of(hostile, [body_of(0, "exits")]))

    assert {one.name for one in tmp_path.iterdir()} == {"respawns", "retries"}


def test_a_death_is_not_charged_what_the_reply_before_it_took(
    sandboxes: Sandboxes, hostile: Program
) -> None:
    budget = TimeBudget(flow_s_max=100)
    works = run_of(hostile, [body_of(0, "works-a-while", work_s=3.0)], parse_s=6)
    outcomes_of(sandboxes, works, budget)
    before_us = budget.left_us(works.assignment)

    outcomes_of(sandboxes, run_of(hostile, [body_of(1, "exits")], parse_s=6), budget)

    assert before_us - budget.left_us(works.assignment) < 2_000_000


def test_a_parser_that_fakes_progress_until_it_is_killed_pays_for_the_time(
    sandboxes: Sandboxes, hostile: Program
) -> None:
    budget = TimeBudget(flow_s_max=0.5)
    bodies = [body_of(number, "forges-progress-for-ever") for number in range(20)]

    verdicts = list(outcomes_of(sandboxes, run_of(hostile, bodies), budget).verdicts.values())

    assert verdicts.count(Verdict.NOT_TRIED) > 10


def test_behind_a_death_a_chunk_s_messages_are_sent_one_by_one(
    sandboxes: Sandboxes, hostile: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else one parser could die of each, and have the time of all others every time."""
    asked, ask = list[int](), ParserChild.ask

    def noted(child: ParserChild, request: Request, memory: WorkerMemory | None) -> None:
        asked.append(request.messages)
        ask(child, request, memory)

    monkeypatch.setattr(ParserChild, "ask", noted)
    bodies = [body_of(number, "exits" if number == 4 else "good") for number in range(10)]

    outcomes_of(sandboxes, run_of(hostile, bodies))

    assert (asked[0], set(asked[1:])) == (10, {1})


BIT_BY_BIT = """
import sys
sys.modules["fleetlane.parsers.sandbox.child.attempts"].PART_BYTES = -1
"""
LARGE = """
KEPT = b"x" * (500 << 20)

class Large:
    def parse(self, message):
        yield {}
"""
FORGING = """
import sys, time
sys.modules["fleetlane.parsers.sandbox.child.charge"].Charge.used_us = lambda self: 0

class Forging:
    def parse(self, message):
        ends = time.process_time() + 0.04
        while time.process_time() < ends:
            pass
        yield {}
"""


def test_a_parser_that_hides_short_work_is_charged_its_cpu_time(
    thrifty: Sandboxes, install: Install
) -> None:
    forging = program("forging==1.0", install("forging==1.0", "forging:Forging", FORGING))
    budget = TimeBudget(flow_s_max=100)
    runs = [run_of(forging, [b""], parse_s=0.2) for _ in range(10)]

    verdicts = [outcomes_of(thrifty, run, budget).verdicts[0] for run in runs]

    assert verdicts == [Verdict.OK] * 10
    left_us = budget.left_us(runs[0].assignment)
    assert left_us < 100e6 - 10 * 15_000, "each worked 20 ms beyond what is usual"


def test_options_reach_the_parser(sandboxes: Sandboxes, hostile: Program) -> None:
    unknown = program(hostile.use, hostile.location, colour="red")

    outcomes = outcomes_of(sandboxes, run_of(unknown, [body_of(0)]))

    assert outcomes.verdicts == {0: Verdict.PARSER_FAILED}
    assert "no option 'colour'; allowed: greeting" in outcomes.details[0]


def test_the_child_that_was_used_least_recently_is_stopped(
    sandboxes: Sandboxes, hostile: Program
) -> None:
    programs = [
        program(hostile.use, hostile.location, greeting=str(number))
        for number in range(CHILDREN_MAX + 1)
    ]
    for one in (*programs[:-1], programs[0]):
        outcomes_of(sandboxes, run_of(one, [body_of(0)]))
    before = children_of(sandboxes._zygote.pid)

    outcomes_of(sandboxes, run_of(programs[-1], [body_of(0)]))

    after = children_of(sandboxes._zygote.pid)
    assert len(before) == len(after) == CHILDREN_MAX
    assert set(before) - set(after) == {before[1]}


def test_many_programs_of_one_owner_leave_the_child_of_another_waiting(
    sandboxes: Sandboxes, hostile: Program
) -> None:
    sandboxes.loaded(program(hostile.use, hostile.location, greeting="few"), "few")
    [child] = children_of(sandboxes._zygote.pid)

    for number in range(2 * CHILDREN_MAX):
        sandboxes.loaded(program(hostile.use, hostile.location, greeting=str(number)), "many")

    assert child in children_of(sandboxes._zygote.pid)


def test_children_that_have_too_much_memory_together_do_not_wait(hostile: Program) -> None:
    programs = [
        program(hostile.use, hostile.location, greeting=greeting) for greeting in ("a", "b")
    ]
    with closing(Sandboxes(waiting_bytes_max=1 << 20)) as sandboxes:
        outcomes_of(sandboxes, run_of(programs[0], [body_of(0)]))

        outcomes_of(sandboxes, run_of(programs[1], [body_of(0)]))

        assert len(children_of(sandboxes._zygote.pid)) == 1


def test_one_that_has_too_much_memory_ends_no_other_that_waits(
    hostile: Program, install: Install
) -> None:
    large = program("large==1.0", install("large==1.0", "large:Large", LARGE))
    small = [program(hostile.use, hostile.location, greeting=one) for one in ("a", "b", "c")]
    with closing(Sandboxes(waiting_bytes_max=400 << 20)) as sandboxes:
        for one in (*small[:2], large, small[2]):
            outcomes_of(sandboxes, run_of(one, [body_of(0)]))

        assert len(children_of(sandboxes._zygote.pid)) == 3


def test_a_child_that_answers_bit_by_bit_and_hides_its_work_is_stopped_in_time(
    thrifty: Sandboxes, install: Install
) -> None:
    code = BIT_BY_BIT + FORGING
    forging = program("forging==1.0", install("forging==1.0", "forging:Forging", code))
    budget = TimeBudget(flow_s_max=0.1)

    verdicts = outcomes_of(thrifty, run_of(forging, [b""] * 300, parse_s=0.2), budget).verdicts

    tried = [one for one in verdicts.values() if one is not Verdict.NOT_TRIED]
    assert len(verdicts) == 300
    assert len(tried) < 100


@pytest.mark.parametrize(
    ("code", "verdict"),
    [
        ("raise ValueError('at import')", Verdict.PARSER_FAILED),
        ("import os; os._exit(4)", Verdict.CRASHED),
        ("Versioned = 1", Verdict.PARSER_FAILED),
    ],
    ids=["raises", "exits", "no-class"],
)
def test_a_parser_that_cannot_be_loaded_fails_its_messages_and_no_others(
    sandboxes: Sandboxes, hostile: Program, install: Install, code: str, verdict: Verdict
) -> None:
    broken = program("broken==1.0", install("broken==1.0", "broken:Versioned", code))

    outcomes = outcomes_of(sandboxes, run_of(broken, [b"", b""]))
    others = outcomes_of(sandboxes, run_of(hostile, [body_of(0)]))

    assert outcomes.verdicts == {0: verdict, 1: verdict}
    assert others.verdicts == {0: Verdict.OK}


THREADED = """
import threading
threading.Thread(target=threading.Event().wait, daemon=True).start()

class Threaded:
    def parse(self, message):
        yield {}
"""


def test_a_library_that_starts_threads_at_import_costs_no_child(
    sandboxes: Sandboxes, install: Install
) -> None:
    site = install("threaded==1.0", "threaded:Threaded", THREADED)
    run = run_of(program("threaded==1.0", site), [b""])
    outcomes_of(sandboxes, run)
    before = children_of(sandboxes._zygote.pid)

    outcomes_of(sandboxes, run)

    assert children_of(sandboxes._zygote.pid) == before


def test_a_parser_that_cannot_be_loaded_is_not_loaded_again_for_every_batch(
    sandboxes: Sandboxes, install: Install, tmp_path: Path
) -> None:
    log = tmp_path / "loaded"
    code = f"open({str(log)!r}, 'a').write('x'); import time; time.sleep(0.5); 1 / 0"
    run = run_of(program("broken==1.0", install("broken==1.0", "broken:Broken", code)), [b""])

    outcomes = [outcomes_of(sandboxes, run) for _ in range(5)]

    assert log.read_text() == "x"
    assert {one.verdicts[0] for one in outcomes} == {Verdict.PARSER_FAILED}


def test_a_parser_that_cannot_be_loaded_is_not_loaded_again_however_many_others_came(
    sandboxes: Sandboxes, hostile: Program, install: Install, tmp_path: Path
) -> None:
    log = tmp_path / "loaded"
    code = f"open({str(log)!r}, 'a').write('x'); import time; time.sleep(1); 1 / 0"
    broken = program("broken==1.0", install("broken==1.0", "broken:Broken", code))
    sandboxes.loaded(broken, "acme")
    for number in range(CHILDREN_MAX):
        other = program(hostile.use, hostile.location, greeting=str(number))
        sandboxes.loaded(other, "acme")

    sandboxes.loaded(broken, "acme")

    assert log.read_text() == "x"


@pytest.fixture
def slow(install: Install) -> Program:
    code = "import time; time.sleep(0.6)\nclass Slow:\n    def parse(self, message): yield {}"
    return program("slow==1.0", install("slow==1.0", "slow:Slow", code))


@pytest.fixture
def impatient(slow: Program) -> Iterator[Sandboxes]:
    """Sandboxes in which an owner's parsers may take as good as nothing to load, and did."""
    sandboxes = Sandboxes(loads_s_max=0.01)
    sandboxes.loaded(slow, "acme")
    yield sandboxes
    sandboxes.close()


def test_an_owner_whose_parsers_take_too_long_to_load_has_no_more_of_them_loaded(
    impatient: Sandboxes, hostile: Program
) -> None:
    loaded = impatient.loaded(hostile, "acme")

    assert (loaded.is_deferred, loaded.problem) == (
        True,
        "the parsers of acme take too long to load",
    )


def test_another_owner_s_parsers_are_loaded_meanwhile(
    impatient: Sandboxes, hostile: Program
) -> None:
    loaded = impatient.loaded(hostile, "other")

    assert loaded.problem is None


def test_messages_whose_parser_may_not_be_loaded_now_are_not_tried(
    impatient: Sandboxes, hostile: Program
) -> None:
    outcomes = outcomes_of(impatient, run_of(hostile, [body_of(0)]))

    assert outcomes.verdicts == {0: Verdict.NOT_TRIED}


def test_a_parser_that_kills_every_child_has_its_messages_go_on_unparsed(
    thrifty: Sandboxes, hostile: Program, caplog: pytest.LogCaptureFixture
) -> None:
    bodies = [body_of(number, "exits") for number in range(500)]

    with caplog.at_level(logging.ERROR):
        outcomes = outcomes_of(thrifty, run_of(hostile, bodies))

    verdicts = list(outcomes.verdicts.values())
    assert verdicts.count(Verdict.CRASHED) <= 3
    assert verdicts.count(Verdict.CHILDREN_USED_UP) >= 497
    assert "uses up its children too fast" in caplog.text


def test_a_spent_budget_is_another_parser_s_no_matter(thrifty: Sandboxes, hostile: Program) -> None:
    other = program(hostile.use, hostile.location, greeting="other")
    outcomes_of(thrifty, run_of(hostile, [body_of(number, "exits") for number in range(9)]))

    outcomes = outcomes_of(thrifty, run_of(other, [body_of(0)]))

    assert outcomes.verdicts == {0: Verdict.OK}


def test_a_flow_that_used_up_its_time_is_not_tried_and_others_are(
    sandboxes: Sandboxes, hostile: Program
) -> None:
    budget = TimeBudget(flow_s_max=0.5)
    slow = [body_of(number, "sleeps") for number in range(30)]

    outcomes = outcomes_of(sandboxes, run_of(hostile, slow), budget)
    others = outcomes_of(sandboxes, run_of(hostile, [body_of(0)], stream="other"), budget)

    verdicts = [outcomes.verdicts[place] for place in range(30)]
    tried = verdicts.count(Verdict.TIMEOUT)
    assert 1 <= tried <= 3
    assert verdicts == [Verdict.TIMEOUT] * tried + [Verdict.NOT_TRIED] * (30 - tried)
    assert others.verdicts == {0: Verdict.OK}


def test_a_flow_that_used_up_its_time_has_its_slow_messages_cut_short_by_the_same_child(
    sandboxes: Sandboxes, hostile: Program
) -> None:
    budget = TimeBudget(flow_s_max=0.1, overdraft_s_max=1)
    outcomes_of(sandboxes, run_of(hostile, [body_of(0)]), budget)
    children = children_of(sandboxes._zygote.pid)
    bodies = [body_of(number, "sleeps" if number % 20 == 5 else "good") for number in range(200)]

    outcomes = outcomes_of(sandboxes, run_of(hostile, bodies), budget)

    slow = [outcomes.verdicts.pop(place) for place in range(5, 200, 20)]
    assert slow == [Verdict.TIMEOUT] + [Verdict.CUT_SHORT] * 9
    assert set(outcomes.verdicts.values()) == {Verdict.OK}
    assert children_of(sandboxes._zygote.pid) == children


def test_a_flow_that_used_up_its_overdraft_too_is_not_tried(
    sandboxes: Sandboxes, hostile: Program
) -> None:
    budget = TimeBudget(flow_s_max=0.1, overdraft_s_max=0.4)
    slow = [body_of(number, "sleeps") for number in range(50)]

    outcomes = outcomes_of(sandboxes, run_of(hostile, slow), budget)

    verdicts = [outcomes.verdicts[place] for place in range(50)]
    cut = verdicts.count(Verdict.CUT_SHORT)
    assert 1 <= cut <= 20
    assert verdicts == [
        Verdict.TIMEOUT,
        *[Verdict.CUT_SHORT] * cut,
        *[Verdict.NOT_TRIED] * (49 - cut),
    ]


def test_a_flow_whose_budget_loading_its_parser_again_uses_up_is_not_tried(
    sandboxes: Sandboxes, hostile: Program
) -> None:
    run = run_of(hostile, [body_of(0), body_of(1)])
    outcomes_of(sandboxes, run)
    [child] = children_of(sandboxes._zygote.pid)
    os.kill(child, signal.SIGKILL)

    outcomes = outcomes_of(sandboxes, run, TimeBudget(flow_s_max=1e-6))

    assert outcomes.verdicts == {0: Verdict.NOT_TRIED, 1: Verdict.NOT_TRIED}


WORDY = """
class Wordy:
    def parse(self, message):
        raise type("\\U0001f600" * 5_000, (Exception,), {})
"""


def test_a_failure_with_the_longest_detail_is_its_own_message_s(
    sandboxes: Sandboxes, install: Install
) -> None:
    site = install("wordy==1.0", "wordy:Wordy", WORDY)

    outcomes = outcomes_of(sandboxes, run_of(program("wordy==1.0", site), [b""] * 3))

    assert set(outcomes.verdicts.values()) == {Verdict.PARSER_FAILED}
    assert set(outcomes.details.values()) == {"\U0001f600" * DETAIL_CHARS_MAX}


def test_results_that_nobody_takes_disturb_no_later_run(
    sandboxes: Sandboxes, hostile: Program
) -> None:
    run = run_of(hostile, [body_of(number) for number in range(1_000)])
    results = sandboxes.parsed(run, no_time_limit())
    next(results)

    results.close()  # type: ignore[attr-defined] # it is a generator
    outcomes = outcomes_of(sandboxes, run)

    assert set(outcomes.verdicts.values()) == {Verdict.OK}


def test_results_stay_as_they_are_after_later_runs(sandboxes: Sandboxes, hostile: Program) -> None:
    bodies = [body_of(number, events=3) for number in range(300)]
    kept = list(sandboxes.parsed(run_of(hostile, bodies), no_time_limit()))
    before = [list(result.records) for result in kept]

    outcomes_of(sandboxes, run_of(hostile, [body_of(number, "scribbles") for number in range(300)]))

    assert [list(result.records) for result in kept] == before


def test_a_program_that_is_loaded_again_is_charged_for_all_of_it(hostile: Program) -> None:
    loads = Loads(owner_s_max=0.1)

    loads.charge("acme", hostile, LOAD_USUAL_S)
    loads.check(hostile, "acme")
    loads.charge("acme", hostile, LOAD_USUAL_S)

    with pytest.raises(ParserNotLoadedError, match="take too long to load"):
        loads.check(hostile, "acme")
