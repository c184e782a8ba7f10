"""SIGTERM as Ctrl-C: both end a command the same way, by KeyboardInterrupt."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

INTERRUPTED: Final = 128 + signal.SIGINT
"""The exit code of what could not be finished."""


@contextmanager
def sigterm_as_ctrl_c() -> Iterator[None]:
    """Hold for the block; main thread only."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
