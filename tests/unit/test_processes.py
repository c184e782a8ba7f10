"""Nothing that we start outlives us, and its end is reported."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from local.servers.ports import is_free, remembered_port
from local.servers.processes import (
    ServerAlreadyRunsError,
    ServerDiedError,
    ServerNotReadyError,
    ServerProcess,
)

ROOT = Path(__file__).parents[2]
SLEEP = ["sleep", "600"]
STUBBORN = [
    sys.executable,
    "-c",
    "import signal, subprocess, time\n"
    "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    "print(subprocess.Popen(['sleep', '600']).pid, flush=True)\n"
    "time.sleep(600)\n",
]
SUPERVISOR = """
import sys, time
from pathlib import Path
sys.path.append(sys.argv[2])
from local.servers.processes import ServerProcess
server = ServerProcess("sleep", ["sleep", "600"], log_path=Path(sys.argv[1]))
server.start()
print(server.pid, flush=True)
time.sleep(600)
"""

type Start = Callable[..., ServerProcess]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    started: list[ServerProcess] = []

    def start_one(command: list[str], *, grace_s: float = 5.0) -> ServerProcess:
        server = ServerProcess("it", command, log_path=tmp_path / "it.log", grace_s=grace_s)
        started.append(server)
        server.start()
        return server

    yield start_one
    for server in started:
        server.kill()


def is_running(pid: int | None) -> bool:
    ps = ["ps", "-o", "stat=", "-p", str(pid)]
    state = subprocess.run(ps, capture_output=True, text=True, check=False).stdout.strip()
    return state != "" and not state.startswith("Z")


def becomes_true(condition: Callable[[], bool], *, within_s: float = 10.0) -> bool:
    deadline = time.monotonic() + within_s
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
    return condition()


def printed_pid(server: ServerProcess) -> int:
    assert becomes_true(lambda: server.log_tail() != "")
    return int(server.log_tail())


def test_a_stopped_server_ended_by_sigterm(start: Start) -> None:
    server = start(SLEEP)

    exit_code = server.stop()

    assert (exit_code, is_running(server.pid)) == (128 + signal.SIGTERM, False)


def test_a_server_that_ignores_sigterm_is_killed_after_the_grace(start: Start) -> None:
    server = start(STUBBORN, grace_s=0.1)
    grandchild = printed_pid(server)

    exit_code = server.stop()

    assert (exit_code, is_running(grandchild)) == (128 + signal.SIGKILL, False)


def test_kill_9_of_the_supervisor_leaves_nothing_running(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", SUPERVISOR, str(tmp_path / "log"), str(ROOT)], stdout=subprocess.PIPE
    ) as supervisor:
        assert supervisor.stdout is not None
        pid = int(supervisor.stdout.readline())

        supervisor.kill()

    assert becomes_true(lambda: not is_running(pid))


def test_kill_9_of_the_guard_leaves_nothing_running(start: Start) -> None:
    server = start(SLEEP)
    assert server._guard is not None

    server._guard.kill()

    assert (server.wait(10), is_running(server.pid)) == (True, False)


def test_kill_9_of_the_server_is_seen_as_its_exit_code(start: Start) -> None:
    server = start(SLEEP)
    assert server.pid is not None

    os.kill(server.pid, signal.SIGKILL)

    assert (server.wait(10), server.exit_code) == (True, 128 + signal.SIGKILL)


def test_kill_9_of_the_server_ends_its_own_children_too(start: Start) -> None:
    server = start(STUBBORN)
    grandchild = printed_pid(server)

    server.kill()

    assert not is_running(grandchild)


def test_ctrl_c_in_the_terminal_does_not_reach_a_server(start: Start) -> None:
    server = start(SLEEP)
    assert server._guard is not None
    assert server.pid is not None

    sessions = {os.getsid(server._guard.pid), os.getsid(server.pid)}

    assert os.getsid(0) not in sessions


def test_a_server_of_a_higher_niceness_and_its_session_have_what_others_leave(
    tmp_path: Path,
) -> None:
    server = ServerProcess("it", SLEEP, log_path=tmp_path / "it.log")
    server.niceness = 7

    server.start()

    assert server.pid is not None
    autogroup = Path(f"/proc/{server.pid}/autogroup")
    of_session = autogroup.read_text().split()[-1] if autogroup.exists() else "7"
    niceness = os.getpriority(os.PRIO_PROCESS, server.pid)
    server.kill()
    assert (niceness, of_session) == (7, "7")


def test_a_server_may_be_started_again(start: Start) -> None:
    server = start(SLEEP)
    server.kill()

    server.start()

    assert server.is_alive()


def test_a_server_whose_log_another_writes_is_not_started(start: Start, tmp_path: Path) -> None:
    start(SLEEP)
    second = ServerProcess("it", SLEEP, log_path=tmp_path / "it.log", grace_s=0.1)

    with pytest.raises(ServerAlreadyRunsError, match="already runs on this folder"):
        second.start()


def test_a_server_that_dies_before_it_is_ready_is_shown_with_its_last_lines(start: Start) -> None:
    server = start([sys.executable, "-c", "raise SystemExit('no such setting: colour')"])

    with pytest.raises(ServerDiedError, match=r"exit code 1.*\n.*no such setting: colour"):
        server.wait_ready(lambda: False, timeout_s=10)


def test_a_command_that_cannot_be_run_is_named(start: Start) -> None:
    command = ["/no/such/program"]

    with pytest.raises(ServerDiedError, match="/no/such/program could not be started"):
        start(command)


def test_a_server_that_never_answers_is_given_up(start: Start) -> None:
    server = start(SLEEP)

    with pytest.raises(ServerNotReadyError, match=r"no answer within 0\.1 s"):
        server.wait_ready(lambda: False, timeout_s=0.1)


def test_the_log_is_cut_to_its_last_lines(tmp_path: Path) -> None:
    server = ServerProcess("it", SLEEP, log_path=tmp_path / "log")
    server.log_path.write_text("".join(f"line {number}\n" for number in range(100)))

    tail = server.log_tail(lines_max=2)

    assert tail == "line 98\nline 99"


def test_a_free_port_is_the_same_after_a_restart(tmp_path: Path) -> None:
    first = remembered_port(tmp_path / "port.json")

    second = remembered_port(tmp_path / "port.json")

    assert second == first


def test_a_port_that_somebody_took_is_replaced_and_noted(tmp_path: Path) -> None:
    first = remembered_port(tmp_path / "port.json")

    with socket.create_server(("127.0.0.1", first)):
        second = remembered_port(tmp_path / "port.json")

    assert (second != first, remembered_port(tmp_path / "port.json")) == (True, second)


def test_a_note_of_a_port_is_replaced_at_once_whole(tmp_path: Path) -> None:
    note, before = tmp_path / "port.json", tmp_path / "before"
    first = remembered_port(note)
    before.hardlink_to(note)

    with socket.create_server(("127.0.0.1", first)):
        remembered_port(note)

    assert before.read_text() == f"{first}\n"


def test_a_port_that_is_listened_on_is_not_free() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

        free = is_free(port)

    assert not free
