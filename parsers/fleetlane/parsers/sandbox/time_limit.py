"""A soft time limit: interrupts Python code in the main thread of a process."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class TimeIsUp(BaseException):
    """The time limit has passed. Not an ``Exception``, so that ``except Exception`` lets it by."""


def _raise(_signal: int, _frame: FrameType | None) -> None:
    raise TimeIsUp


@contextmanager
def time_limit(limit_s: float) -> Iterator[None]:
    """Raise ``TimeIsUp`` inside the block once ``limit_s`` have passed.

    Needs the main thread. One long call into C is cut only when it returns, and code that catches
    ``BaseException`` is not cut at all. Where there is no interval timer (Windows), no limit.
    """
    if not hasattr(signal, "setitimer"):
        yield
        return
    earlier = signal.signal(signal.SIGALRM, _raise)
    try:
        signal.setitimer(signal.ITIMER_REAL, limit_s)
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, earlier)
