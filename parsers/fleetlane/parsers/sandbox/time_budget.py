"""How long a process worked, and how much time each flow may use beyond what is usual."""

import logging
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from fleetlane.events.token_bucket import TokenBucket
from fleetlane.parsers.sandbox.output_budget import OutputBudget
from fleetlane.parsers.sandbox.runs import Assignment, TimeAllowance

_log = logging.getLogger(__name__)

NO_END_S: Final = 1e6
"""A budget of so much is not charged: a child may report anything."""

SHORT_US_MIN: Final = 5_000
"""No message is cut before: a computer that does something else in between would cut quick ones."""

SEVERAL_FROM_US: Final = 1_000
"""Beside such a message the start of another child, and its share of a run, cost nothing."""

OWNER_FLOWS: Final = 4
"""An owner's flows have together what so many have, however many it publishes."""

_SHORT_TO_USUAL: Final = 4
_USUAL_SHARE: Final = 0.9
_USUAL_AMONG: Final = 1_000
_SAMPLE_MAX: Final = 64


class TimeBudget:
    """The time budget of each flow, which all of the flow's messages share: see docs/sandbox.md.

    ``output`` is what the flows may put out: it is handed on, and charged, with the time.
    """

    def __init__(
        self,
        *,
        flow_s_max: float,
        overdraft_s_max: float = 0.0,
        regained_share: float = 0.0,
        output: OutputBudget | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Give each flow ``flow_s_max``, the most that it may have left; ``output`` has no end.

        ``overdraft_s_max`` is how much more its messages may use while they have the shorter limit,
        ``regained_share`` what each flow may use besides of the time that passes.
        """
        self._overdraft_us, self._monotonic = int(overdraft_s_max * 1e6), monotonic
        self._flow_us_max = int(flow_s_max * 1e6) + self._overdraft_us
        self.output = output or OutputBudget()
        self.has_end = self.output.has_end or flow_s_max < NO_END_S
        burst_us, us_per_s = flow_s_max * 1e6, regained_share * 1e6
        self._flows, self._owners = (
            TokenBucket.by_name(burst=burst_us, per_s=us_per_s) for _ in range(2)
        )
        self._usual_us: dict[str, float] = {}
        self._reported = set[str]()

    def left_us(self, assignment: Assignment) -> int:
        """What the flow or its owner has left; negative once more was used than there was."""
        now_s, flow = self._monotonic(), assignment.flow
        return int(
            min(self._flows[flow.stream].left_at(now_s), self._owners[flow.owner].left_at(now_s))
        )

    def may_try(self, assignment: Assignment, *, beyond_us: int = 0) -> bool:
        """Whether messages of the flow may be tried, if only with the shorter limit."""
        return self.left_us(assignment) + self._overdraft_us + beyond_us >= 0

    def is_slow(self, assignment: Assignment) -> bool:
        """Whether most of the flow's messages take so long that several are parsed at once."""
        return self._usual_us.get(assignment.flow.stream, 0.0) >= SEVERAL_FROM_US

    def allowance(self, assignment: Assignment, *, sharers: int = 1) -> TimeAllowance:
        """What messages that are tried now may use, of so many that are tried at once."""
        tenth_us = assignment.usual_s * 1e6
        usual_us = self._usual_us.get(assignment.flow.stream, tenth_us)
        short_us = min(tenth_us, max(SHORT_US_MIN, _SHORT_TO_USUAL * usual_us))
        left_us = max(-self._overdraft_us, self.left_us(assignment)) // sharers
        output_bytes = self.output.left_bytes(assignment.flow.stream) // sharers
        return TimeAllowance(left_us, self._overdraft_us // sharers, int(short_us), output_bytes)

    def charge(self, assignment: Assignment, charged_us: int, parse_us: Sequence[int] = ()) -> None:
        """Take what messages have used. ``parse_us`` of each: 0 where it was not tried."""
        stream, owner, now_s = assignment.flow.stream, assignment.flow.owner, self._monotonic()
        was_left = self.left_us(assignment) >= 0
        if self.has_end:
            self._flows[stream].overdraw(now_s, charged_us)
            self._owners[owner].overdraw(now_s, min(charged_us, self._flow_us_max) / OWNER_FLOWS)
        if was_left and self.left_us(assignment) < 0 and stream not in self._reported:
            self._reported.add(stream)
            _log.warning("flow %s used up its time budget: its slow messages are deferred", stream)
        self._learn(stream, parse_us, assignment.usual_s * 1e6)

    def begin_batch(self) -> None:
        """Report again whoever uses up its time from now on."""
        self._reported.clear()
        self.output.begin_batch()

    def _learn(self, stream: str, parse_us: Sequence[int], tenth_us: float) -> None:
        step = 1 + len(parse_us) // _SAMPLE_MAX
        in_order_us = sorted(filter(None, parse_us[::step]))
        if not in_order_us:
            return
        now_us = min(tenth_us, in_order_us[int(_USUAL_SHARE * len(in_order_us))])
        usual_us = self._usual_us.setdefault(stream, now_us)
        weight = min(1.0, step * len(in_order_us) / _USUAL_AMONG)
        self._usual_us[stream] = usual_us + (now_us - usual_us) * weight


TICKS_SEEN_MAX: Final = 2
_CLOCK_TICK_NS: Final = 10_000_000


def run_queue_ns(pid: int) -> int:
    """How long a process's main thread has waited for a CPU; 0 where that is not counted."""
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_bytes().split()[1])
    except (OSError, IndexError):  # it is gone, or this kernel does not count
        return 0


def cpu_ns(pid: int) -> tuple[int, bool]:
    """CPU time of all threads of a process, in ticks of 10 ms, and whether it could use more.

    0 where it is gone.
    """
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
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
