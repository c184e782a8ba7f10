"""Runs one server, and ends it and all that it started when the process that asked for it ends.

``processes.py`` starts ``python -I -S guard.py GRACE_SECONDS NICENESS COMMAND [ARGUMENT...]``:

- standard input is the lifeline: a pipe that its other end never writes to. End of file, by closing
  it or by dying in any way, asks for the end of the server: SIGTERM to its process group, SIGKILL
  after the grace;
- standard output takes one line, the server's process id;
- standard error is the server's standard output and error.

Exits as the server did, with 128 + n for signal n, once its whole process group is gone.
"""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

COMMAND_NOT_RUN = 127
_LIFELINE, _ANSWER, _LOG = 0, 1, 2
_GONE_WITHIN_S = 1.0


def signal_group(group_id: int, signal_number: int) -> None:
    """Send a signal to a process group; one that is gone, or only zombies, is left in peace."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group_id, signal_number)


def kill_group(group_id: int) -> None:
    """Kill a process group with -9. Returns once it is gone, or a second later."""
    signal_group(group_id, signal.SIGKILL)
    _wait_until_gone(group_id)


def main(arguments: list[str]) -> int:
    grace_s, niceness, command = float(arguments[0]), int(arguments[1]), arguments[2:]
    os.nice(niceness)
    try:
        server = subprocess.Popen(  # noqa: S603 - the caller's own command, never a shell
            command, stdin=subprocess.DEVNULL, stdout=_LOG, stderr=_LOG, start_new_session=True
        )
    except OSError as error:
        os.write(_LOG, f"{command[0]} could not be started: {error}\n".encode())
        return COMMAND_NOT_RUN
    with contextlib.suppress(OSError):  # Linux may share CPUs by session first
        Path(f"/proc/{server.pid}/autogroup").write_text(str(niceness))
    ended = threading.Event()
    threading.Thread(target=_end_at_eof, args=(server.pid, grace_s, ended), daemon=True).start()
    with contextlib.suppress(BrokenPipeError):
        os.write(_ANSWER, f"{server.pid}\n".encode())
    # Not reaped yet, so that its number cannot be another's by the time its group is killed.
    os.waitid(os.P_PID, server.pid, os.WEXITED | os.WNOWAIT)
    ended.set()
    signal_group(server.pid, signal.SIGKILL)
    code = server.wait()
    _wait_until_gone(server.pid)
    return code if code >= 0 else 128 - code


def _end_at_eof(group_id: int, grace_s: float, ended: threading.Event) -> None:
    os.read(_LIFELINE, 1)
    signal_group(group_id, signal.SIGTERM)
    if not ended.wait(grace_s):
        signal_group(group_id, signal.SIGKILL)


def _wait_until_gone(group_id: int) -> None:
    deadline = time.monotonic() + _GONE_WITHIN_S
    with contextlib.suppress(ProcessLookupError, PermissionError):
        while time.monotonic() < deadline:
            os.killpg(group_id, 0)
            time.sleep(0.01)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
