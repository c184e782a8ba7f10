"""A process without threads that forks parser children for one worker, kills and reaps them.

It is a new program, not a fork of the worker: importing pyarrow starts threads there, and a fork
would copy locks that they hold. It is a subreaper: what a parser leaves behind comes back to it and
is killed. It ends, with all its children, when the worker closes its socket, or ends.
"""

import gc
import json
import os
import signal
import socket
import traceback
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from fleetlane.parsers.registry import installed_parsers
from fleetlane.parsers.sandbox.child.main import serve
from fleetlane.parsers.sandbox.jail.entering import Jail, Part, hide_memory, remove_folder
from fleetlane.parsers.sandbox.jail.landlock import readable_paths
from fleetlane.parsers.sandbox.jail.self_test import tested
from fleetlane.parsers.sandbox.jail.system_calls import prctl
from fleetlane.parsers.sandbox.runs import Program
from fleetlane.parsers.sandbox.settings import inherited_environment

COMMAND_BYTES_MAX: Final = 1 << 18
DESCRIPTORS: Final = 3
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_CHILD_SUBREAPER = 1, 4, 36
_STRAY_ROUNDS_MAX: Final = 200


class ZygoteProcess:
    """Answers ``spawn`` with a child's process id, and ``end`` with how the child ended."""

    def __init__(self, control: socket.socket, jail: Jail) -> None:
        self._control, self._children = control, set[int]()
        self._jail, self._problems = tested(jail) if jail.parts else (jail, {})

    def serve(self) -> None:
        try:
            while True:
                packet, descriptors, _, _ = socket.recv_fds(
                    self._control, COMMAND_BYTES_MAX, DESCRIPTORS
                )
                if not packet:
                    return
                command = json.loads(packet)
                if "spawn" in command:
                    program = msgspec.convert(command["spawn"], Program)
                    answer: object = self._spawned(program, descriptors)
                elif "problems" in command:
                    answer = self._problems
                else:
                    answer = self._ended(command["end"])
                self._control.send(json.dumps(answer).encode())
        except BrokenPipeError:
            return  # the worker has ended
        finally:
            for pid in list(self._children):
                self._ended(pid)
            self._kill_strays()
            remove_folder(Path(self._jail.folder))

    def _spawned(self, program: Program, descriptors: list[int]) -> dict[str, int]:
        zygote = os.getpid()
        try:
            pid = os.fork()
            if pid == 0:
                _become_child(zygote, program, descriptors, self._jail)
            self._children.add(pid)
            return {"pid": pid}
        except OSError as problem:  # too many processes, or too little memory
            return {"errno": problem.errno or 0}
        finally:
            for descriptor in descriptors:
                os.close(descriptor)

    def _ended(self, pid: int) -> dict[str, int]:
        """Kill a child, if it is not dead yet, with all that it started and wrote."""
        if pid not in self._children:  # an earlier zygote's, and dead with it
            return {"status": signal.SIGKILL, "resident_kib_max": 0}
        try:
            os.killpg(pid, signal.SIGKILL)
        except ProcessLookupError:  # it has no session of its own yet
            os.kill(pid, signal.SIGKILL)
        _, status, usage = os.wait4(pid, 0)
        self._children.discard(pid)
        self._kill_strays()
        remove_folder(Path(self._jail.folder_of(pid)))
        return {"status": status, "resident_kib_max": usage.ru_maxrss}

    def _kill_strays(self) -> None:
        """Orphans of parsers, also those that left the group. Ours until waited for."""
        for _ in range(_STRAY_ROUNDS_MAX):
            listing = Path(f"/proc/self/task/{os.getpid()}/children").read_text()
            strays = set(map(int, listing.split())) - self._children
            if not strays:
                return
            for pid in strays:
                os.kill(pid, signal.SIGKILL)
            for pid in strays:
                os.waitpid(pid, 0)


def _become_child(zygote: int, program: Program, descriptors: list[int], jail: Jail) -> None:
    """What runs in the child, from the fork to its end. Never returns."""
    code = os.EX_SOFTWARE
    try:
        os.setsid()
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        if os.getppid() == zygote:
            _close_all_but(0, 1, 2, *descriptors)
            doorbell, input_memory, progress = descriptors
            child = socket.socket(fileno=doorbell)
            os.nice(program.niceness)
            with suppress(OSError):  # where Linux shares CPUs by session first, that one counts
                prctl(_PR_SET_DUMPABLE, 1)  # else this file is root's
                Path("/proc/self/autogroup").write_text(str(program.niceness))
            hide_memory()
            serve(program, child, (input_memory, progress), jail)
            code = os.EX_OK
    except BaseException:  # noqa: BLE001 - the process's edge
        traceback.print_exc()
    finally:
        os._exit(code)


def _close_all_but(*kept: int) -> None:
    for descriptor in map(int, os.listdir("/proc/self/fd")):  # noqa: PTH208 - numbers, no paths
        if descriptor not in kept:
            with suppress(OSError):
                os.close(descriptor)


def main(control: int, worker: int, folder: str, parts: Sequence[str]) -> None:
    """Serve the worker until it is gone. ``control`` is a socket's descriptor.

    Children are in a jail of these parts, those that this system has, with folders in ``folder``.
    """
    os.dup2(2, 1)  # a parser's print must not reach what Spark reads
    prctl(_PR_SET_CHILD_SUBREAPER, 1)
    prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    requests = socket.socket(fileno=control)
    # No exception: it may come while what parsers left is ended, which must not be cut short.
    signal.signal(signal.SIGTERM, lambda *_: requests.shutdown(socket.SHUT_RD))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    hide_memory()
    jail = Jail(
        parts=frozenset(map(Part, parts)),
        folder=folder,
        readable=tuple(readable_paths(inherited_environment().get("LD_LIBRARY_PATH", ""))),
    )
    installed_parsers()  # three quarters of what a child takes to load a parser
    gc.collect()
    gc.freeze()  # so that a child's collector does not copy what all share
    if os.getppid() == worker:
        ZygoteProcess(requests, jail).serve()
