"""The soft time limit: interrupts Python code in the main thread of a process."""

import os
import signal
from types import FrameType
from typing import Final, Self

from fleetlane.parsers.sandbox.stopwatch import Stopwatch

_TICK_S_MIN: Final = 0.002
NO_MESSAGE: Final = -1


class TimeIsUp(BaseException):
    """The time limit has passed. Not an ``Exception``, so that ``except Exception`` lets it by."""


class SoftLimit:
    """Raises ``TimeIsUp`` in the message that is being parsed once it has taken ``limit_s``.

    One timer runs for many messages, so that a message costs no system call: it ticks ten times
    within the limit. Needs the main thread. One long call into C is cut only when it returns, and
    what catches ``BaseException`` is cut again at each tick: after that it takes a kill. Where
    there is no interval timer (Windows), there is no limit.

    ``message`` is the number of the one that is being parsed, unique in this process, or
    ``NO_MESSAGE``: set by whoever parses, as a call would cost more than all else here.
    """

    def __init__(self, limit_s: float) -> None:
        self._limit_s, self._tick_s = limit_s, max(limit_s / 10, _TICK_S_MIN)
        self._stopwatch: Stopwatch | None = None
        self._seen = self.message = NO_MESSAGE

    def __enter__(self) -> Self:
        if hasattr(signal, "setitimer"):
            self._earlier = signal.signal(signal.SIGALRM, self._tick)
            signal.setitimer(signal.ITIMER_REAL, self._tick_s, self._tick_s)
        return self

    def __exit__(self, *_: object) -> None:
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, self._earlier)

    def _tick(self, _signal: int, _frame: FrameType | None) -> None:
        if self.message == NO_MESSAGE:
            return
        if self._stopwatch is None or self.message != self._seen:
            self._seen = self.message
            self._stopwatch = Stopwatch(os.getpid(), tick_s=self._tick_s)
        elif self._stopwatch.read() >= self._limit_s:
            raise TimeIsUp
