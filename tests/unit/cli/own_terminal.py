"""Python in a terminal of its own, whose keys a test presses."""

import os
import pty
import subprocess
import sys
from collections.abc import Mapping
from typing import Final

_CONTROLLING: Final = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0);"
    "os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
)


def started_in_terminal(
    *arguments: str, env: Mapping[str, str] | None = None
) -> tuple[subprocess.Popen[bytes], int]:
    """Start Python with arguments: its process, and the descriptor of its keyboard and screen."""
    keyboard, terminal = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", _CONTROLLING, *arguments],
        stdin=terminal, stdout=terminal, stderr=terminal, start_new_session=True, env=env,
    )  # fmt: skip
    os.close(terminal)
    return process, keyboard
