"""Servers as child processes: none outlives us, however either of us ends."""

import contextlib
import fcntl
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

import httpx

from fleetlane.events.errors import FleetlaneError
from local.servers import guard

_STOP_MARGIN_S = 5.0
_POLL_INTERVAL_S = 0.05
_LOG_FREE_WITHIN_S_MAX = 5.0
_LOG_TAIL_BYTES_MAX = 64 * 1024
_ANSWER_TIMEOUT_S = 2.0


class ServerDiedError(FleetlaneError):
    """A server ended, or never began. Its log's last lines usually say why."""

    name: str
    exit_code: int | None
    log_path: Path
    log_tail: str
    sentence = "{name} ended with exit code {exit_code}; the end of {log_path}:\n{log_tail}"


class ServerNotReadyError(FleetlaneError):
    """A server runs, but did not answer within its time limit."""

    name: str
    waited_s: float
    log_path: Path
    log_tail: str
    sentence = "{name} gave no answer within {waited_s:g} s; the end of {log_path}:\n{log_tail}"


class ServerAlreadyRunsError(FleetlaneError):
    """The server with this log still runs: ours, another's, or one that nobody ended."""

    name: str
    log_path: Path
    sentence = "{name} already runs on this folder: another process writes {log_path}"


class ServerProcess:
    """One server under a guard of its own (``guard.py``); may be started again once it ended.

    A subclass says how its folder is prepared and when it is ready.

    The server is in a session of its own, so Ctrl-C in the terminal reaches only us. It is ended
    by ``stop``, by our end in any way (the guard sees its lifeline close), and by the guard's own
    end (a thread here sees that). Only killing us and the guard at once leaves it running. The
    lifeline is ours alone as long as nobody forks this process without an exec.

    While it runs its log is locked, so no two servers can share a folder, whoever started them.
    """

    niceness = 0
    """Servers of a higher one have less of the CPU where others want it."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        *,
        log_path: Path,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        grace_s: float = 10.0,
    ) -> None:
        """Describe the server; nothing runs yet.

        Its output is appended to the log. ``env`` is its whole environment, read at each start;
        ours if None, as ``cwd`` is. ``grace_s`` passes from SIGTERM to SIGKILL.
        """
        self.name, self.log_path = name, log_path.resolve()
        self._command, self._env, self._cwd, self._grace_s = list(command), env, cwd, grace_s
        self._guard: subprocess.Popen[bytes] | None = None
        self._ended = threading.Event()
        self._ended.set()
        self.pid: int | None = None
        """Of the server itself, not of its guard; None before the first start."""

    def start(self) -> None:
        """Start the server; does not wait until it is ready.

        Raises ``ServerDiedError`` where the command cannot be run, and ``ServerAlreadyRunsError``
        where it runs and does not end within the grace, or five seconds.
        """
        with self._locked_log() as log:
            self._prepare()
            process = self._guard = self._started_guard(log)
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            with process.stdout as answer:
                line = answer.readline()
        except BaseException:  # such as Ctrl-C: nobody holds this server yet
            process.stdin.close()
            process.wait()
            raise
        self.pid = int(line) if line else None
        self._ended.clear()
        threading.Thread(target=self._watch, args=(process, self.pid), daemon=True).start()
        if self.pid is None:
            self.stop()
            raise self.death()

    def stop(self) -> int | None:
        """End the server with SIGTERM, after the grace with SIGKILL; returns the exit code."""
        if self._guard is not None and self._guard.stdin is not None:
            self._guard.stdin.close()
            if not self._ended.wait(self._grace_s + _STOP_MARGIN_S):
                self._guard.kill()
                self._ended.wait()
        return self.exit_code

    def kill(self) -> int | None:
        """End the server with kill -9, as an out-of-memory killer would; returns the exit code."""
        if self.pid is not None and self.is_alive():
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
        return self.stop()

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until the server has ended; False if it still runs after ``timeout_s``."""
        return self._ended.wait(timeout_s)

    def wait_ready(self, answers: Callable[[], bool], *, timeout_s: float) -> None:
        """Poll ``answers`` until it is true; it must bound its own waiting.

        Raises ``ServerDiedError`` where it ended first, and ``ServerNotReadyError`` after
        ``timeout_s``: then the server has been stopped.
        """
        deadline = time.monotonic() + timeout_s
        try:
            while not answers():
                if self.wait(_POLL_INTERVAL_S):
                    raise self.death()
                if time.monotonic() > deadline:
                    raise ServerNotReadyError(self.name, timeout_s, self.log_path, self.log_tail())
        except BaseException:
            self.stop()
            raise

    def is_alive(self) -> bool:
        return not self._ended.is_set()

    @property
    def exit_code(self) -> int | None:
        """128 + n for signal n; None while it runs, and before the first start."""
        if self._guard is None or self.is_alive():
            return None
        code = self._guard.returncode
        return code if code >= 0 else 128 - code

    def log_tail(self, lines_max: int = 20) -> str:
        """The last lines of its output, for an error message."""
        try:
            with self.log_path.open("rb") as log:
                log.seek(max(0, log.seek(0, os.SEEK_END) - _LOG_TAIL_BYTES_MAX))
                text = log.read().decode(errors="replace")
        except FileNotFoundError:
            return ""
        return "\n".join(text.splitlines()[-lines_max:])

    def death(self) -> ServerDiedError:
        return ServerDiedError(self.name, self.exit_code, self.log_path, self.log_tail())

    def _prepare(self) -> None:
        """Called at each start, once nobody else can run the same server."""

    def _locked_log(self) -> BinaryIO:
        """The log, locked for as long as any process has it: we, the guard, all of the server."""
        self.log_path.parent.mkdir(parents=True, exist_ok=True)
        log = self.log_path.open("ab")
        deadline = time.monotonic() + min(self._grace_s, _LOG_FREE_WITHIN_S_MAX)
        while True:
            try:
                fcntl.flock(log, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return log
            except BlockingIOError:
                if time.monotonic() > deadline:
                    log.close()
                    raise ServerAlreadyRunsError(self.name, self.log_path) from None
                time.sleep(_POLL_INTERVAL_S)

    def _started_guard(self, log: BinaryIO) -> subprocess.Popen[bytes]:
        script = str(Path(guard.__file__).resolve())
        command = [sys.executable, "-I", "-S", script, str(self._grace_s), str(self.niceness)]
        return subprocess.Popen(  # noqa: S603 - our own command, never a shell
            [*command, *self._command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            env=self._env,
            cwd=self._cwd,
            start_new_session=True,
        )

    def _watch(self, process: subprocess.Popen[bytes], pid: int | None) -> None:
        guard_was_killed = process.wait() < 0
        if guard_was_killed and pid is not None:
            guard.kill_group(pid)
        if process.stdin is not None:
            process.stdin.close()
        self._ended.set()


def answers_at(url: str) -> bool:
    """Whether a GET there succeeds, directly and within two seconds."""
    try:
        return httpx.get(url, timeout=_ANSWER_TIMEOUT_S, trust_env=False).is_success
    except httpx.HTTPError:
        return False
