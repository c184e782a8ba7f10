"""A worker with its children: killed, paused, on a busy machine, and for long."""

import os
import signal
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import pytest

from fleetlane.parsers.sandbox.results import Verdict
from fleetlane.parsers.sandbox.runs import Program
from fleetlane.parsers.sandbox.worker.excess import resident_bytes
from fleetlane.parsers.sandbox.worker.sandboxes import Sandboxes
from tests.unit.parsers.sandbox.conftest import body_of, children_of, outcomes_of, run_of
from tests.unit.parsers.sandbox.machine import (
    descendants_of,
    is_alive,
    loaded_at_twice_its_cores,
    wait_until,
)

SCRIPT = """
import sys
from tests.unit.parsers.sandbox.conftest import body_of, no_time_limit, program, run_of
from fleetlane.parsers.sandbox.worker.sandboxes import Sandboxes
sandboxes = Sandboxes(parts=())  # in a jail no parser could leave a process behind
run = run_of(program("hostile==1.0", sys.argv[1]), [body_of(0, "good"), body_of(1, sys.argv[2])],
             parse_s=float(sys.argv[3]))
for result in sandboxes.parsed(run, no_time_limit()):
    print(*(attempt.verdict.name for _, attempt in result.attempts), flush=True)
"""

SIGTERM_AT_EACH_LINE = """
import os, signal, subprocess, sys
from fleetlane.parsers.sandbox.child import zygote

METHODS = {one.__code__ for one in vars(zygote.ZygoteProcess).values() if callable(one)}

def terminate(frame, *_):
    if frame.f_code in METHODS - {zygote.ZygoteProcess.__init__.__code__}:
        os.kill(os.getpid(), signal.SIGTERM)
        return terminate

print(subprocess.Popen(["sleep", "600"], stdout=subprocess.DEVNULL).pid, flush=True)
sys.settrace(terminate)
zygote.main(int(sys.argv[1]), os.getppid(), sys.argv[2], ())
"""


def _worker(hostile: Program, kind: str, *, parse_s: float) -> subprocess.Popen[str]:
    assert hostile.location is not None
    root = Path(__file__).parents[4]
    command = [sys.executable, "-c", textwrap.dedent(SCRIPT), hostile.location, kind, str(parse_s)]
    return subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize("kind", ["sleeps", "loops-in-c", "leaves-process-and-hangs"])
def test_a_worker_that_is_killed_leaves_no_process_behind(hostile: Program, kind: str) -> None:
    started = 2 + (kind == "leaves-process-and-hangs")
    with _worker(hostile, kind, parse_s=600) as worker:
        assert wait_until(lambda: len(descendants_of(worker.pid)) >= started)
        processes = descendants_of(worker.pid)

        worker.kill()

        assert wait_until(lambda: not any(is_alive(pid) for pid in processes))


def test_a_zygote_that_gets_sigterm_at_each_of_its_lines_leaves_no_process_behind(
    tmp_path: Path,
) -> None:
    control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with control, theirs:
        command = [sys.executable, "-c", textwrap.dedent(SIGTERM_AT_EACH_LINE)]
        command += [str(theirs.fileno()), str(tmp_path)]
        out, fds = subprocess.PIPE, [theirs.fileno()]
        with subprocess.Popen(command, stdout=out, text=True, pass_fds=fds) as zygote:
            stray, _ = zygote.communicate()

    assert zygote.returncode == 0
    assert not is_alive(int(stray))


def test_a_zygote_whose_worker_dies_before_it_has_its_answer_ends_without_a_word(
    tmp_path: Path,
) -> None:
    code = """
    import os, sys
    from fleetlane.parsers.sandbox.child import zygote
    zygote.main(int(sys.argv[1]), os.getppid(), sys.argv[2], ())
    """
    control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    control.send(b'{"problems": true}')
    control.close()

    with theirs:
        command = [sys.executable, "-c", textwrap.dedent(code), str(theirs.fileno()), str(tmp_path)]
        zygote = subprocess.run(
            command, capture_output=True, text=True, pass_fds=[theirs.fileno()], check=False
        )

    assert (zygote.returncode, zygote.stderr) == (0, "")


def _signal(processes: Iterable[int], number: int) -> None:
    """Those that are still there: the jail's self-test has children that end at once."""
    for pid in processes:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def test_a_machine_that_pauses_condemns_no_message(hostile: Program) -> None:
    with _worker(hostile, "works-a-while", parse_s=1.0) as worker:
        assert wait_until(lambda: len(descendants_of(worker.pid)) >= 2)
        time.sleep(0.1)
        processes = [worker.pid, *descendants_of(worker.pid)]

        _signal(processes, signal.SIGSTOP)
        time.sleep(2.5)
        _signal(reversed(processes), signal.SIGCONT)

        output, _ = worker.communicate()
        assert output.split() == ["OK", "OK"]


@pytest.mark.faults
def test_a_machine_loaded_at_twice_its_cores_condemns_no_message(
    sandboxes: Sandboxes, hostile: Program, *, faults_are_full: bool
) -> None:
    bodies = [body_of(number, "works-a-while", work_s=0.04) for number in range(60)]
    runs = [run_of(hostile, bodies, parse_s=0.1) for _ in range(10 if faults_are_full else 1)]

    with loaded_at_twice_its_cores():
        outcomes = [outcomes_of(sandboxes, run) for run in runs]

    assert {verdict for one in outcomes for verdict in one.verdicts.values()} == {Verdict.OK}


@pytest.mark.faults
def test_memory_stays_flat_over_many_messages(
    sandboxes: Sandboxes, hostile: Program, *, faults_are_full: bool
) -> None:
    bodies = [body_of(number) for number in range(1_000)]
    run, runs = run_of(hostile, bodies), 1_000 if faults_are_full else 20
    for _ in range(10):
        outcomes_of(sandboxes, run)
    (child,) = children_of(sandboxes._zygote.pid)
    before = [resident_bytes(pid) for pid in (os.getpid(), sandboxes._zygote.pid, child)]

    for _ in range(runs):
        outcomes_of(sandboxes, run)

    after = [resident_bytes(pid) for pid in (os.getpid(), sandboxes._zygote.pid, child)]
    growth = [now - then for then, now in zip(before, after, strict=True)]
    assert all(grown < 8 << 20 for grown in growth), growth


def test_the_zygote_has_one_thread(sandboxes: Sandboxes, hostile: Program) -> None:
    outcomes_of(sandboxes, run_of(hostile, [body_of(0)]))

    threads = list(Path(f"/proc/{sandboxes._zygote.pid}/task").iterdir())

    assert len(threads) == 1
