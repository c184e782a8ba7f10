"""How long a process worked, and how much time each flow may use beyond what is usual."""

import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from fleetlane.events.token_bucket import TokenBucket
from fleetlane.parsers.sandbox.runs import Assignment

_log = logging.getLogger(__name__)


class TimeBudget:
    """The time budget of each flow, which all of the flow's messages share.

    A message is charged what it takes beyond a tenth of its limit. Once the budget is used up, the
    flow's messages are not tried: they would hold up those of the others. Time gives it back.
    """

    def __init__(
        self,
        *,
        flow_s_max: float,
        regained_share: float = 0.0,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Give each flow its whole budget.

        Args:
            flow_s_max: The most that a flow may have left, and what it begins with.
            regained_share: Of the time that passes, what each flow may use besides.
            monotonic: The clock, in seconds.
        """
        self._flow_s_max, self._share, self._monotonic = flow_s_max, regained_share, monotonic
        self._flows: dict[str, TokenBucket] = {}  # in microseconds
        self._reported = set[str]()

    def left_us(self, assignment: Assignment) -> int:
        """What the flow has left; negative once it has used more than there was."""
        now_s = self._monotonic()
        return int(self._flow(assignment.flow.stream, now_s).left_at(now_s))

    def charge(self, assignment: Assignment, charged_us: int) -> None:
        stream, now_s = assignment.flow.stream, self._monotonic()
        bucket = self._flow(stream, now_s)
        was_left = bucket.left_at(now_s) >= 0
        bucket.overdraw(now_s, charged_us)
        if was_left and bucket.left < 0 and stream not in self._reported:
            self._reported.add(stream)
            _log.warning("flow %s used up its time budget: its other messages are deferred", stream)

    def begin_batch(self) -> None:
        """Report again whoever uses up its time from now on."""
        self._reported.clear()

    def _flow(self, stream: str, now_s: float) -> TokenBucket:
        bucket = self._flows.get(stream)
        if bucket is None:
            bucket = TokenBucket.full(
                burst=self._flow_s_max * 1e6, per_s=self._share * 1e6, now_s=now_s
            )
            self._flows[stream] = bucket
        return bucket


TICKS_SEEN_MAX: Final = 2


def run_queue_ns(pid: int) -> int:
    """How long a process's main thread has waited for a CPU; 0 where that is not counted."""
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_bytes().split()[1])
    except (OSError, IndexError):  # it is gone, or this kernel does not count
        return 0


class Stopwatch:
    """Measures one process between readings, which come about every ``tick_s``.

    A machine that paused, or has too many processes, adds nothing: between two readings at most
    two ticks pass, and the time that the process waited in the run queue does not count.
    """

    def __init__(self, pid: int, *, tick_s: float) -> None:
        self._pid = pid
        self._step_ns_max = int(TICKS_SEEN_MAX * tick_s * 1e9)
        self.restart()

    def restart(self) -> None:
        self._seen_ns, self._waited_ns = time.monotonic_ns(), run_queue_ns(self._pid)
        self.worked_s = 0.0

    def read(self) -> float:
        """Add what has passed since the last reading, and give the sum in seconds."""
        now_ns, waited_ns = time.monotonic_ns(), run_queue_ns(self._pid)
        passed_ns = min(now_ns - self._seen_ns, self._step_ns_max)
        self.worked_s += max(0, passed_ns - (waited_ns - self._waited_ns)) / 1e9
        self._seen_ns, self._waited_ns = now_ns, waited_ns
        return self.worked_s
