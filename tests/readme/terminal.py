"""A person's terminal: what is typed, what is shown, and Ctrl-C."""

import os
import signal
import subprocess
import time
from pathlib import Path
from typing import IO, Final

from local.servers.guard import kill_group

_BASH: Final = ("bash", "-euo", "pipefail", "-c")
_TIMEOUT_S: Final = 240.0
_STOP_WITHIN_S_MAX: Final = 60.0
_LOOK_AGAIN_S: Final = 0.1


class Terminal:
    """A shell in a folder. Commands that fail or hang fail the test; none is left running."""

    def __init__(self, folder: Path, screen: Path) -> None:
        """Take the folder that commands are run in, and the file that what stays writes to."""
        # A shell that puts these tests into the background has them ignore Ctrl-C, and what they
        # start inherits that. In a terminal it is heeded.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        self._folder, self._screen = folder, screen
        self._stays: subprocess.Popen[str] | None = None

    def run(self, script: str) -> str:
        """Run a script to its end, and return what it printed."""
        process = self._started(script, subprocess.PIPE)
        try:
            printed, _ = process.communicate(timeout=_TIMEOUT_S)
        finally:
            kill_group(process.pid)
        assert process.returncode == 0, f"exit code {process.returncode} of:\n{script}"
        return printed

    def start(self, script: str, *, until_there_is: Path) -> None:
        """Run a script that stays; wait for the file that says that it is ready."""
        with self._screen.open("a") as screen:
            process = self._stays = self._started(script, screen)
        give_up_s = time.monotonic() + _TIMEOUT_S
        while not until_there_is.exists():
            assert process.poll() is None, f"it ended:\n{self._screen.read_text()}"
            assert time.monotonic() < give_up_s, f"it hangs:\n{self._screen.read_text()}"
            time.sleep(_LOOK_AGAIN_S)

    def shown(self) -> str:
        """What was printed by what stays."""
        return self._screen.read_text()

    def ctrl_c(self) -> int | None:
        """Interrupt what stays, and return its exit code; ``None`` where nothing does."""
        process, self._stays = self._stays, None
        if process is None:
            return None
        try:
            os.killpg(process.pid, signal.SIGINT)
            return process.wait(_STOP_WITHIN_S_MAX)
        finally:
            kill_group(process.pid)

    def _started(self, script: str, output: int | IO[str]) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*_BASH, script],
            cwd=self._folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            text=True,
            start_new_session=True,
        )
