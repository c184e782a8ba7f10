"""The worker's side of the zygote."""

import json
import logging
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from fleetlane.events.errors import FleetlaneError
from fleetlane.parsers.sandbox.jail.entering import Part, remove_folder
from fleetlane.parsers.sandbox.results import Verdict
from fleetlane.parsers.sandbox.runs import Program
from fleetlane.parsers.sandbox.settings import MALLOC_LIMITS, inherited_environment
from fleetlane.parsers.sandbox.stopwatch import Stopwatch

ANSWER_S_MAX: Final = 10.0
"""How long a zygote may work on a request: milliseconds, but that the first waits for its start."""

_STARTED_AS: Final = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from fleetlane.parsers.sandbox.child.zygote import main
main(int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], sys.argv[5:])
"""
_ANSWER_BYTES_MAX: Final = 4096
_TICK_S: Final = 0.05
_ROUNDS_MAX: Final = 200

_log = logging.getLogger(__name__)


class ZygoteGoneError(FleetlaneError):
    """The zygote has ended, its children with it. A new one may be started."""

    pid: int
    sentence = "the process that starts parsers ({pid}) has ended"


class ParserNotLoadedError(FleetlaneError):
    """There is no child that has loaded its parser; with ``NOT_TRIED`` there may be one later."""

    verdict: Verdict
    problem: str
    sentence = "{problem}"


class Ending(NamedTuple):
    """How a child ended: the status that ``wait`` gave, and the most memory that it held."""

    status: int
    resident_bytes_max: int

    def cause(self, memory_bytes_max: int) -> tuple[Verdict, str]:
        """What this says of the message it worked on, and the same in words."""
        if not os.WIFSIGNALED(self.status):
            code = os.WEXITSTATUS(self.status)
            return Verdict.CRASHED, f"its process ended with exit code {code}"
        number = os.WTERMSIG(self.status)
        name = signal.Signals(number).name if number in signal.valid_signals() else str(number)
        if number == signal.SIGKILL and self.resident_bytes_max > memory_bytes_max // 2:
            return Verdict.MEMORY, f"its process was killed with {self.resident_bytes_max} bytes"
        return Verdict.CRASHED, f"its process ended by signal {name}"


class Zygote:
    """A zygote process of this worker's own. It finds modules where this process does.

    No wait for it is without end: one that is stopped, or has had ``answer_s_max`` to work and has
    not answered, is killed with all its children, and another one started.
    """

    def __init__(
        self, parts: Collection[Part] = tuple(Part), *, answer_s_max: float = ANSWER_S_MAX
    ) -> None:
        """Start it. Its children are in a jail of these parts, as far as this system has them."""
        self._parts, self._answer_s_max = parts, answer_s_max
        self.checks = set[Callable[[], None]]()  # called each tick of a wait for any child
        self._start()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_stopped(self) -> bool:
        """Whether it was sent SIGSTOP, as one of its children may. One system call."""
        try:
            options = os.WSTOPPED | os.WNOHANG | os.WNOWAIT
            return os.waitid(os.P_PID, self.pid, options) is not None
        except ChildProcessError:  # it has ended
            return False

    def spawned(self, program: Program, *descriptors: int) -> int:
        """Fork a child that gets ``descriptors``, and give its process id.

        Raises ``ParserNotLoadedError`` where that one ended, and the one started instead too, or
        the system has no process left.
        """
        command, answer = {"spawn": msgspec.to_builtins(program)}, dict[str, int]()
        with suppress(ZygoteGoneError):
            answer = self._asked(command, descriptors)
        try:
            answer = answer or self._asked(command, descriptors)
        except ZygoteGoneError as gone:
            raise ParserNotLoadedError(Verdict.CRASHED, str(gone)) from gone
        if "errno" in answer:
            problem = f"no process can be started: {os.strerror(answer['errno'])}"
            raise ParserNotLoadedError(Verdict.NOT_TRIED, problem)
        return answer["pid"]

    def ended(self, pid: int) -> Ending:
        """Kill a child, if it still lives, with all that it started.

        Raises ``ZygoteGoneError`` where the zygote has ended, and the child with it.
        """
        answer = self._asked({"end": pid})
        return Ending(answer["status"], answer["resident_kib_max"] * 1024)

    def problems(self) -> dict[str, str]:
        return self._asked({"problems": True})  # type: ignore[return-value] # texts, not numbers

    def folder_of(self, pid: int) -> str:
        """Where a child may write."""
        return f"{self._folder}/{pid}"

    def close(self) -> None:
        """End the zygote and all its children; returns when they are gone."""
        self._control.close()
        handle = os.pidfd_open(self.pid)
        if not self._is_ready(handle):
            self._kill()
        os.close(handle)
        with suppress(subprocess.TimeoutExpired):  # not even killed: the kernel has it
            self._process.wait(self._answer_s_max)
        remove_folder(Path(self._folder))

    def _start(self) -> None:
        self._folder = tempfile.mkdtemp(prefix="fleetlane-parsers-")
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        path = json.dumps([entry for entry in sys.path if entry])
        command = [sys.executable, "-c", _STARTED_AS, path, str(theirs.fileno()), str(os.getpid())]
        command += [self._folder, *self._parts]
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and code
                command,
                env={**inherited_environment(), **MALLOC_LIMITS},
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                start_new_session=True,  # it survives a kill of the worker's group, to clean up
            )

    def _asked(self, command: object, descriptors: tuple[int, ...] = ()) -> dict[str, int]:
        """Ask the zygote. If it is gone, another one is started for the next request."""
        answer = b""
        with suppress(BrokenPipeError, ConnectionResetError):
            socket.send_fds(self._control, [json.dumps(command).encode()], descriptors)
            if self._is_ready(self._control.fileno()):
                answer = self._control.recv(_ANSWER_BYTES_MAX)
            else:
                self._kill()
        if not answer:
            gone = self.pid
            self.close()
            self._start()
            raise ZygoteGoneError(gone)
        found: dict[str, int] = json.loads(answer)
        return found

    def _is_ready(self, descriptor: int) -> bool:
        """Wait until there is something to read; false where the zygote will never see to it.

        A machine that pauses, or is busy with other work, is no reason: see ``Stopwatch``.
        """
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        stopwatch = Stopwatch(self.pid, tick_s=_TICK_S)
        while not poll.poll(_TICK_S * 1000):
            if self.is_stopped or stopwatch.read() >= self._answer_s_max:
                return False
        return True

    def _kill(self) -> None:
        """Kill it with all that it started. While it is stopped no process id is used again."""
        _log.error("zygote %d does not answer: it is killed, and made anew", self.pid)
        os.kill(self.pid, signal.SIGSTOP)
        killed = set[int]()
        for _ in range(_ROUNDS_MAX):
            found = _descendants(self.pid) - killed
            if not found:
                break
            for pid in found:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            killed |= found
        os.kill(self.pid, signal.SIGKILL)


def _descendants(pid: int) -> set[int]:
    found = set[int]()
    for listing in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):  # that thread has ended
            found.update(map(int, listing.read_text().split()))
    return found.union(*map(_descendants, found))
