"""How long a process had a chance to work: time on the clock, less what it waited for a CPU."""

import time
from pathlib import Path
from typing import Final

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
