"""What a driver knows of a query in real time: its workers' heartbeats, and what is wrong."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

import orjson

from fleetlane.events.heartbeats import Heartbeat
from fleetlane.events.metrics import LaneMetric
from glue_jobs.kafka.admin import Partition
from glue_jobs.kafka.mirrored_offsets import Progress

SILENCE_S_MAX: Final = 2.0
BEGIN_S_MAX: Final = 30.0
"""So long a task may take to begin: a worker starts, and imports what it runs."""

PATIENCE_MAX: Final = 16
PATIENCE_LOST_S: Final = 3_600.0
"""A query that was ended for silence or a stall has twice the time for an hour, and so on up to so
many times: a machine that is too busy gets no faster by starting queries."""


class RealTimeWatch:
    """Follows the heartbeats of a query's tasks. ``begin`` anew at each of its starts."""

    def __init__(
        self, *, stalled_after_s: float, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._stalled_ms, self._monotonic = int(stalled_after_s * 1000), monotonic
        self._run, self._patience, self._ended_s = "", 1, 0.0
        self._due_s, self._over = dict[int, float](), set[int]()
        self._problem: str | None = None
        self._batch, self._to_begin = -1, set[int]()
        self._expected, self._within_s = 0, 0.0
        self.offsets = dict[Partition, int]()
        """How far the tasks are: all before is durable."""
        self._counts, self._lag_ms = Counter[str](), 0

    def begin(self, run: str, *, tasks: int) -> None:
        """Expect heartbeats of so many tasks of a run of the query, and of no other run."""
        self._run, self._problem, self._batch = run, None, -1
        self._expected, self._to_begin = tasks, set(range(tasks))
        self._due_s = dict.fromkeys(range(tasks), self._monotonic() + BEGIN_S_MAX)
        self._over.clear()
        self.offsets.clear()

    def expect(self, tasks: int, *, within_s: float) -> None:
        """By then a batch begins with so many: partitions were added. Any thread may say so."""
        self._within_s = within_s
        self._expected = tasks

    def note(self, beats: Iterable[Heartbeat]) -> None:
        due_s = self._monotonic() + self._within_s + BEGIN_S_MAX
        self._due_s |= dict.fromkeys(set(range(self._expected)) - self._due_s.keys(), due_s)
        for beat in beats:
            if beat.run == self._run:
                self._note(beat)

    def _note(self, beat: Heartbeat) -> None:
        now_s = self._monotonic()
        begins_s, reports_s = now_s + BEGIN_S_MAX, now_s + SILENCE_S_MAX * self._patience
        if beat.is_over:
            self._over.add(beat.task)
        elif beat.task in self._over:  # another batch has begun
            self._over.clear()
        else:  # a batch that is over for others waits for this task
            self._due_s |= dict.fromkeys(self._over, begins_s)
        self._due_s[beat.task] = begins_s if beat.is_over else reports_s
        self._to_begin.discard(beat.task)
        self._counts.update(beat.counts)
        self._lag_ms = max(self._lag_ms, beat.lag_ms, beat.waits_ms)
        if beat.topic and beat.partition is not None and beat.durable_offset is not None:
            place = beat.topic, beat.partition
            self.offsets[place] = max(beat.durable_offset, self.offsets.get(place, 0))
        if beat.problem is not None:
            self._problem = f"task {beat.task}: {beat.problem}"
        elif self._problem is None and beat.waits_ms > self._stalled_ms * self._patience:
            self._problem = f"task {beat.task} has had a message for {beat.waits_ms} ms"
            self._grow_patient()

    def excuse(self) -> None:
        """Let all tasks have as long again: Kafka did not answer, so none could arrive."""
        self._due_s = dict.fromkeys(self._due_s, self._monotonic() + BEGIN_S_MAX)

    def problem(self) -> str | None:
        """Why the query is to be started again; ``None`` while it is as it should be."""
        if self._problem is not None:
            return self._problem
        now_s = self._monotonic()
        silent = [task for task, due_s in self._due_s.items() if now_s > due_s]
        if not silent:
            if now_s > self._ended_s + PATIENCE_LOST_S:
                self._patience = 1
            return None
        self._grow_patient()
        return f"no heartbeat of task {', '.join(map(str, silent))}"

    def _grow_patient(self) -> None:
        """The same may take as long again, for a good reason: once more is no help then."""
        self._patience = min(2 * self._patience, PATIENCE_MAX)
        self._ended_s = self._monotonic()

    @property
    def has_begun(self) -> bool:
        """Whether each task of this run has sent a heartbeat."""
        return not self._to_begin

    def dropped(self, progress: Progress | None) -> Sequence[str]:
        """The partitions that the last batch began with and committed no offset of; each once."""
        report = {} if progress is None else orjson.loads(progress.json)
        if report.get("batchId", self._batch) == self._batch:
            return ()
        self._batch = report["batchId"]
        (source,) = report["sources"]
        return sorted(_partitions(source["startOffset"]) - _partitions(source["endOffset"]))

    def taken_values(self) -> Mapping[str, float]:
        """``LaneMetric``'s values since this was asked last."""
        counts, self._counts = self._counts, Counter()
        lag_ms, self._lag_ms = self._lag_ms, 0
        return {**counts, LaneMetric.LAG_SECONDS: lag_ms / 1000}


def _partitions(offsets: Mapping[str, Mapping[str, int]] | None) -> set[str]:
    """Of a Kafka source's offsets, as Spark reports them."""
    found = offsets or {}
    return {f"{topic}-{number}" for topic, by_number in found.items() for number in by_number}
