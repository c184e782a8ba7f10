"""What Spark does not look at in real time: task slots, and whether clocks agree.

A batch's end is set by the driver's clock when the batch is planned. A task that gets its slot
later reads nothing and fails nothing, and its partition stands still: so each partition has a slot
for the whole batch, or the lane runs in micro-batches. A worker whose clock is ahead stops early.
"""

import logging
import math
import time
from collections import deque
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from pyspark.sql import SparkSession

PAUSE_S: Final = 60.0
"""So long a lane stays in micro-batches after its partitions did not fit."""

CLOCK_OFF_MS_MAX: Final = 1_000
_DELAYS: Final = 20
"""Heartbeats of ten seconds: of so many one at least is read soon after it was sent."""

_log = logging.getLogger(__name__)


class TaskSlots(NamedTuple):
    """Those of all executors, and how many ``others`` keep: each query beside has one."""

    slots: int
    others: int

    def surplus(self, partitions: int) -> int:
        """How many partitions would be left without a slot."""
        return max(0, partitions - max(0, self.slots - self.others))


def task_slots(session: SparkSession, *, others: int) -> TaskSlots:
    """Count the slots of the executors that there are now."""
    store = session.sparkContext._jsc.sc().statusStore()  # noqa: SLF001 - PySpark has no other way in
    are_active = True
    executors = store.executorList(are_active)
    slots = sum(int(executors.apply(at).maxTasks()) for at in range(executors.size()))
    return TaskSlots(slots=slots, others=others)


class SlotCheck:
    """Whether each partition has a slot: asked before every start, and while a query runs.

    A lane whose partitions do not fit stays in micro-batches for a while, so that queries beside it
    which come and go do not have it change all the time.
    """

    def __init__(
        self,
        slots: Callable[[], TaskSlots],
        partitions: Callable[[], int],
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._slots, self._count, self._monotonic = slots, partitions, monotonic
        self._until_s = -math.inf
        self.partitions = self.surplus = 0
        """How many there were when it was asked last, and how many of them had no slot."""

    def fits(self) -> bool:
        slots, partitions = self._slots(), self._count()
        surplus, before = slots.surplus(partitions), self.surplus
        self.partitions, self.surplus = partitions, surplus
        if surplus and surplus != before:
            message = "%d of %d partitions have no task slot (%d, of which others keep %d): %s"
            what = "their lane runs in micro-batches"
            _log.error(message, surplus, partitions, *slots, what)
        if surplus:
            self._until_s = self._monotonic() + PAUSE_S
        return self._monotonic() >= self._until_s


class Clocks:
    """Compares the clocks of workers with the driver's, by when their heartbeats come in."""

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self._now_ms = now_ms
        self._delays_ms, self._named = dict[int, deque[int]](), set[int]()

    def note(self, task: int, sent_ms: int) -> None:
        delays_ms = self._delays_ms.setdefault(task, deque(maxlen=_DELAYS))
        delays_ms.append(self._now_ms() - sent_ms)

    def begin(self) -> None:
        """Forget all: tasks may run elsewhere now."""
        self._delays_ms.clear()
        self._named.clear()

    def new_problems(self) -> Iterable[str]:
        """A sentence for each task whose worker's clock is too far off, once it is known."""
        for task, delays_ms in sorted(self._delays_ms.items()):
            off_ms = min(delays_ms)
            is_off = len(delays_ms) == _DELAYS and abs(off_ms) > CLOCK_OFF_MS_MAX
            if is_off and task not in self._named:
                self._named.add(task)
                where = "behind" if off_ms > 0 else "ahead of"
                yield f"the clock where task {task} runs is {abs(off_ms)} ms {where} the driver's"
