"""The worker's side of the zygote."""

import json
import os
import socket
import subprocess
import sys
from typing import Final, NamedTuple

from fleetlane.events.errors import FleetlaneError
from fleetlane.parsers.sandbox.runs import Program
from fleetlane.parsers.sandbox.settings import inherited_environment

_STARTED_AS: Final = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from fleetlane.parsers.sandbox.child.zygote import main
main(int(sys.argv[2]), int(sys.argv[3]))
"""
_ANSWER_BYTES_MAX: Final = 4096


class ZygoteGoneError(FleetlaneError):
    """The zygote has ended, its children with it. A new one may be started."""

    reason = "zygote_gone"
    pid: int
    sentence = "the zygote, process {pid}, has ended"


class Ending(NamedTuple):
    """How a child ended: the status that ``wait`` gave, and the most memory that it held."""

    status: int
    resident_bytes_max: int


class Zygote:
    """A zygote process of this worker's own. It finds modules where this process does."""

    def __init__(self) -> None:
        self._start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def spawned(self, program: Program, *descriptors: int) -> int:
        """Fork a child that gets ``descriptors``, and give its process id.

        Raises:
            ZygoteGoneError: The zygote ended, and the one that was started instead, too.
        """
        written = {
            "use": program.use,
            "options": program.options.decode(),
            "memory_bytes_max": program.memory_bytes_max,
            "location": program.location,
            "niceness": program.niceness,
        }
        try:
            return self._asked({"spawn": written}, descriptors)["pid"]
        except ZygoteGoneError:
            return self._asked({"spawn": written}, descriptors)["pid"]

    def ended(self, pid: int) -> Ending:
        """Kill a child, if it still lives, with all that it started.

        Raises:
            ZygoteGoneError: The zygote has ended, and the child with it.
        """
        answer = self._asked({"end": pid})
        return Ending(answer["status"], answer["resident_kib_max"] * 1024)

    def close(self) -> None:
        """End the zygote and all its children; returns when they are gone."""
        self._control.close()
        self._process.wait()

    def _start(self) -> None:
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        path = json.dumps([entry for entry in sys.path if entry])
        command = [sys.executable, "-c", _STARTED_AS, path, str(theirs.fileno()), str(os.getpid())]
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and code
                command,
                env=inherited_environment(),
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                start_new_session=True,  # it survives a kill of the worker's group, to clean up
            )

    def _asked(self, command: object, descriptors: tuple[int, ...] = ()) -> dict[str, int]:
        """Ask the zygote. If it is gone, another one is started for the next request."""
        try:
            socket.send_fds(self._control, [json.dumps(command).encode()], descriptors)
            answer = self._control.recv(_ANSWER_BYTES_MAX)
        except (BrokenPipeError, ConnectionResetError):
            answer = b""
        if not answer:
            gone = self.pid
            self.close()
            self._start()
            raise ZygoteGoneError(gone)
        found: dict[str, int] = json.loads(answer)
        return found
