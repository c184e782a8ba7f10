"""How long a process worked."""

import os
import time
from typing import Final

TICKS_SEEN_MAX: Final = 2
_CLOCK_TICK_NS: Final = 10_000_000


def proc_file(pid: int, name: str) -> bytes:
    """What the kernel says of a process, in a small file: ``Path`` takes five times as long."""
    with open(f"/proc/{pid}/{name}", "rb", buffering=0) as file:  # noqa: PTH123 - often
        return file.read()


def run_queue_ns(pid: int) -> int:
    """How long a process's main thread has waited for a CPU; 0 where that is not counted."""
    try:
        return int(proc_file(pid, "schedstat").split()[1])
    except (OSError, IndexError):  # it is gone, or this kernel does not count
        return 0


def cpu_ns(pid: int) -> tuple[int, bool]:
    """CPU time of all threads of a process, in ticks of 10 ms, and whether it could use more.

    0 where it is gone.
    """
    try:
        fields = proc_file(pid, "stat").rpartition(b")")[2].split()
        return sum(map(int, fields[11:13])) * _CLOCK_TICK_NS, fields[0] == b"R"
    except (OSError, ValueError, IndexError):
        return 0, False


class Stopwatch:
    """Measures one process between readings, which come about every ``tick_s``.

    A machine that paused, or has too many processes, adds nothing: between two readings at most
    two ticks pass, and the time that the process waited in the run queue does not count: but for
    as long as it had a CPU, as its own threads may be what its main thread waits for. Linux tells
    of a wait once it is over: what was counted of it by then counts less afterwards.
    """

    def __init__(self, pid: int, *, tick_s: float) -> None:
        self._pid = pid
        self._step_ns_max = int(TICKS_SEEN_MAX * tick_s * 1e9)
        self.restart()

    def restart(self) -> None:
        self._seen_ns, self._waited_ns = time.monotonic_ns(), run_queue_ns(self._pid)
        (self._cpu_ns, _), self.worked_s = cpu_ns(self._pid), 0.0
        self._too_much_ns = 0

    def read(self) -> float:
        """Add what has passed since the last reading, and give the sum in seconds."""
        now_ns, waited_ns = time.monotonic_ns(), run_queue_ns(self._pid)
        used_ns, is_ready = cpu_ns(self._pid)
        waits = is_ready and (waited_ns, used_ns) == (self._waited_ns, self._cpu_ns)
        if waits and self._pid != os.getpid():  # who reads its own has a CPU
            return self.worked_s  # the next reading that it had one before has all
        passed_ns = now_ns - self._seen_ns
        ran_ns = passed_ns - (waited_ns - self._waited_ns) - self._too_much_ns
        self._too_much_ns = max(0, -ran_ns)
        on_cpu_ns = min(passed_ns, used_ns - self._cpu_ns - _CLOCK_TICK_NS)
        self.worked_s += min(self._step_ns_max, max(0, ran_ns, on_cpu_ns)) / 1e9
        self._seen_ns, self._waited_ns, self._cpu_ns = now_ns, waited_ns, used_ns
        return self.worked_s
