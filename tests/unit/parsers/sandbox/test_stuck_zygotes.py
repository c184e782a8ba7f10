"""A zygote that is stopped, or does not answer, holds up nobody: it is killed, and made anew."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress

import pytest

from fleetlane.parsers.sandbox.results import Verdict
from fleetlane.parsers.sandbox.runs import Program
from fleetlane.parsers.sandbox.worker import zygote_client
from fleetlane.parsers.sandbox.worker.chunks import Slots
from fleetlane.parsers.sandbox.worker.parser_child import ParserChild
from fleetlane.parsers.sandbox.worker.sandboxes import Sandboxes
from fleetlane.parsers.sandbox.worker.zygote_client import (
    ParserNotLoadedError,
    Zygote,
    ZygoteGoneError,
)
from tests.unit.parsers.sandbox.conftest import (
    Install,
    body_of,
    children_of,
    no_time_limit,
    outcomes_of,
    program,
    run_of,
)
from tests.unit.parsers.sandbox.machine import descendants_of, is_alive, wait_until

TRACER = """
import ctypes, os, sys
SEIZE, INTERRUPT, WALL = 0x4206, 0x4207, 0x40000000
trace, pid = ctypes.CDLL(None).ptrace, int(sys.argv[1])
print(trace(SEIZE, pid, 0, 0), trace(INTERRUPT, pid, 0, 0), flush=True)
while not os.WIFSIGNALED(os.waitpid(pid, WALL)[1]):
    pass
"""
"""Its parent is not notified that a process is held so, as a debugger does it."""

SLOW = """
import time

class Slow:
    def parse(self, message):
        time.sleep(0.2)
        yield {}
"""


type Halt = Callable[[int], object]


@pytest.fixture(params=["stopped", "held"])
def halt(request: pytest.FixtureRequest) -> Iterator[Halt]:
    """What makes a process stand still, in two ways."""
    if request.param == "stopped":
        yield stop
        return
    with ExitStack() as stack:
        yield lambda pid: stack.enter_context(held(pid))


def stop(pid: int) -> None:
    os.kill(pid, signal.SIGSTOP)


@contextmanager
def held(pid: int) -> Iterator[None]:
    command = [sys.executable, "-c", TRACER, str(pid)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as tracer:
        assert tracer.stdout is not None
        assert tracer.stdout.readline() == "0 0\n"
        yield
        tracer.kill()


@pytest.fixture
def slow(install: Install) -> Program:
    return program("slow==1.0", install("slow==1.0", "slow:Slow", SLOW))


def test_a_zygote_that_does_not_answer_is_made_anew(
    sandboxes: Sandboxes, hostile: Program, slow: Program, halt: Halt
) -> None:
    outcomes_of(sandboxes, run_of(hostile, [body_of(0)]))
    zygote = sandboxes._zygote.pid
    before = {zygote, *descendants_of(zygote)}

    halt(zygote)
    outcomes = outcomes_of(sandboxes, run_of(slow, [b"", b""], parse_s=2))

    assert outcomes.verdicts == {0: Verdict.OK, 1: Verdict.OK}
    assert sandboxes._zygote.pid != zygote
    assert wait_until(lambda: not any(map(is_alive, before)))


def test_sandboxes_of_a_stuck_zygote_are_closed_with_all_their_processes(
    hostile: Program, halt: Halt
) -> None:
    sandboxes = Sandboxes()
    outcomes_of(sandboxes, run_of(hostile, [body_of(0, "leaves-process")]))
    processes = {sandboxes._zygote.pid, *descendants_of(sandboxes._zygote.pid)}

    halt(sandboxes._zygote.pid)
    sandboxes.close()

    assert wait_until(lambda: not any(map(is_alive, processes)))


def test_messages_beside_the_one_at_which_a_zygote_stops_come_out_as_ever(
    sandboxes: Sandboxes, hostile: Program
) -> None:
    run = run_of(hostile, [body_of(number) for number in range(600)])
    results = sandboxes.parsed(run, no_time_limit())
    first = next(results)

    stop(sandboxes._zygote.pid)
    verdicts = {
        place: attempt.verdict for result in (first, *results) for place, attempt in result.attempts
    }

    assert verdicts == dict.fromkeys(range(600), Verdict.OK)


def test_the_message_during_which_a_zygote_stops_each_time_is_blamed(
    sandboxes: Sandboxes, hostile: Program, slow: Program
) -> None:
    ends = threading.Event()

    def stop_each_time() -> None:
        while not ends.wait(0.02):
            if children_of(sandboxes._zygote.pid):
                with suppress(ProcessLookupError):  # it was killed meanwhile
                    stop(sandboxes._zygote.pid)

    stopper = threading.Thread(target=stop_each_time)
    stopper.start()
    try:
        blamed = outcomes_of(sandboxes, run_of(slow, [b""], parse_s=2))
    finally:
        ends.set()
        stopper.join()
    innocent = outcomes_of(sandboxes, run_of(hostile, [body_of(0)]))

    assert blamed.verdicts == {0: Verdict.CRASHED}
    assert innocent.verdicts == {0: Verdict.OK}


def test_a_parser_for_whose_child_two_zygotes_ended_is_not_loaded_and_ends_no_batch(
    slow: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    zygote, slots = Zygote(parts=()), Slots()

    with pytest.raises(ParserNotLoadedError, match="has ended") as raised:
        ParserChild(zygote, slow, slots.memory)

    assert raised.value.verdict is Verdict.CRASHED
    zygote.close()
    slots.memory.close()


def test_a_parser_is_deferred_while_no_process_can_be_started(
    slow: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    forks_no_more = textwrap.dedent("""
        import errno, os
        def refused(): raise BlockingIOError(errno.EAGAIN, "")
        os.fork = refused
    """)
    monkeypatch.setattr(zygote_client, "_STARTED_AS", forks_no_more + zygote_client._STARTED_AS)
    sandboxes = Sandboxes(parts=())
    zygote = sandboxes._zygote.pid

    loaded = [sandboxes.loaded(slow, "acme") for _ in range(3)]

    assert {(one.problem, one.is_deferred) for one in loaded} == {
        ("no process can be started: Resource temporarily unavailable", True)
    }
    assert sandboxes._zygote.pid == zygote
    sandboxes.close()


def test_another_parser_s_child_that_died_with_the_zygote_costs_its_messages_nothing(
    sandboxes: Sandboxes, hostile: Program, slow: Program
) -> None:
    outcomes_of(sandboxes, run_of(slow, [b""], parse_s=2))
    stop(sandboxes._zygote.pid)
    outcomes_of(sandboxes, run_of(hostile, [body_of(0)]))

    results = list(sandboxes.parsed(run_of(slow, [b"", b""], parse_s=2), no_time_limit()))

    assert [len(list(result.attempts)) for result in results] == [2]


def test_a_paused_machine_ends_no_zygote() -> None:
    """Worker and zygote stand still for longer than a zygote has; the worker wakes up first."""
    code = textwrap.dedent("""
        import sys
        from fleetlane.parsers.sandbox.runs import Program
        from fleetlane.parsers.sandbox.worker.zygote_client import Zygote

        zygote = Zygote()
        zygote.ended(1)  # what its start takes is no answer
        zygote._answer_s_max = 1.5
        before = zygote.pid
        print(before, flush=True)
        sys.stdin.readline()
        zygote.ended(1)
        print(zygote.pid, flush=True)
        zygote.close()
    """)
    worker = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert worker.stdin is not None
    assert worker.stdout is not None
    before = int(worker.stdout.readline())
    with held(before):
        worker.stdin.write("\n")
        worker.stdin.flush()
        time.sleep(0.3)

        stop(worker.pid)
        time.sleep(3)
        os.kill(worker.pid, signal.SIGCONT)
        time.sleep(0.3)

    assert int(worker.stdout.readline()) == before
    worker.communicate()
    assert worker.returncode == 0


def test_a_zygote_has_only_so_long_to_answer() -> None:
    zygote = Zygote(answer_s_max=2)
    before = zygote.pid
    zygote.ended(1)

    began_s = time.monotonic()
    with held(before), pytest.raises(ZygoteGoneError):
        zygote.ended(1)

    assert time.monotonic() - began_s < 20
    assert zygote.ended(1).status == signal.SIGKILL
    zygote.close()
