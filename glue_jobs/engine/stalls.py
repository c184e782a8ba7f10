"""Queries of a lane that have work and make no progress: noticed, and ended."""

import logging
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from fleetlane.events.lanes import LANE_LIMITS, Lane
from glue_jobs.engine.ended_queries import EndedQueries

STEP_S_MAX: Final = 10.0
"""What counts at most between two checks: a machine that paused has not stalled."""

PATIENCE_MAX: Final = 16
"""A query that stalls again has twice the time, and so on up to this many times: else a batch that
takes long for a good reason would be repeated for ever."""

WORKER_KILLED_S: Final = 5.0
"""Spark kills the Python workers of cancelled tasks two seconds later."""

_LANE: Final = re.compile("parse_lane_({})".format("|".join(Lane)))
_log = logging.getLogger(__name__)


class Query(Protocol):
    """The part of a ``StreamingQuery`` that is watched."""

    @property
    def name(self) -> str | None: ...
    @property
    def runId(self) -> object: ...  # noqa: N802 - Spark's name
    @property
    def status(self) -> dict[str, Any]: ...
    @property
    def lastProgress(self) -> Any: ...  # noqa: N802 - Spark's name
    def stop(self) -> None: ...


@dataclass(slots=True, kw_only=True)
class _Seen:
    batch: object
    tasks: object = None
    for_s: float = 0.0
    patience: int = 1


class StallWatch:
    """Ends queries that make no progress; whoever supervises them starts them again.

    Progress is a batch that ends, a task of it that ends, or a record that a task has read:
    ``tasks`` gives what changes with the latter two, by a query's run. ``ended`` counts the ended.
    """

    def __init__(
        self,
        tasks: Callable[[str], object],
        *,
        monotonic: Callable[[], float] = time.monotonic,
        wait: Callable[[float], None] = time.sleep,
    ) -> None:
        self._tasks, self._monotonic, self._wait = tasks, monotonic, wait
        self._seen, self.ended = dict[str, _Seen](), EndedQueries()
        self._checked_s = monotonic()

    def stalled_ms(self, name: str) -> int:
        """How long the query has made no progress, once that is half of its limit; else 0."""
        seen, limit_s = self._seen.get(name), _limit_s(name)
        if seen is None or limit_s is None or 2 * seen.for_s < limit_s:
            return 0
        return int(seen.for_s * 1000)

    def check(self, queries: Sequence[Query]) -> None:
        """End what makes no progress, with its Python workers.

        To be called every few seconds while Kafka answers: what waits for it has not stalled.
        Raises ``SystemExit`` where one cannot be ended: nothing but another application helps.
        """
        now_s = self._monotonic()
        passed_s, self._checked_s = min(now_s - self._checked_s, STEP_S_MAX), now_s
        for query in queries:
            if self._is_stalled(query, passed_s):
                self._end(query)

    def _is_stalled(self, query: Query, passed_s: float) -> bool:
        name = query.name or ""
        limit_s = _limit_s(name)
        if limit_s is None:
            return False
        progress, status = query.lastProgress, query.status
        batch = None if progress is None else progress["batchId"]
        before = self._seen.setdefault(name, _Seen(batch=batch))
        if batch is not None and before.batch is not None and batch != before.batch:
            before = self._seen[name] = _Seen(batch=batch)
        before.batch = before.batch if batch is None else batch
        has_work = status["isTriggerActive"] and status["isDataAvailable"]
        tasks = (query.runId, self._tasks(str(query.runId))) if has_work else None
        is_still = tasks is not None and tasks == before.tasks
        before.for_s, before.tasks = before.for_s + passed_s if is_still else 0.0, tasks
        return before.for_s >= limit_s * before.patience

    def _end(self, query: Query) -> None:
        name = query.name or ""
        seen = self._seen[name]
        _log.error("query %s has work and stalled for %d s: it is ended", name, seen.for_s)
        seen.for_s, seen.patience = 0.0, min(2 * seen.patience, PATIENCE_MAX)
        self.ended.add()
        try:
            query.stop()
        except Exception as problem:
            message = "query %s cannot be ended, so its application ends: %s"
            _log.error(message, name, problem)
            raise SystemExit(1) from problem
        self._wait(WORKER_KILLED_S)


def _limit_s(name: str) -> float | None:
    found = _LANE.match(name)
    return None if found is None else LANE_LIMITS[Lane(found[1])].stalled_after_s


def running_tasks(session: SparkSession) -> Callable[[str], object]:
    """What gives, for a query's run, how many of its tasks ended, and what the others have read.

    Executors report what a running task has read every ten seconds.
    """
    context = session.sparkContext
    store = context._jsc.sc().statusStore()  # noqa: SLF001 - PySpark has no other way in

    def tasks(run_id: str) -> object:
        try:
            jobs = [store.job(number) for number in context.statusTracker().getActiveJobsIds()]
            own = [job for job in jobs if job.jobGroup().toString() == f"Some({run_id})"]
            stages = [
                store.lastStageAttempt(int(number))
                for job in own
                for number in filter(None, job.stageIds().mkString(",").split(","))
            ]
            return tuple(
                (one.stageId(), one.attemptId(), one.numCompleteTasks(), one.inputRecords())
                for one in stages
            )
        except Py4JError:  # a job has just ended
            return object()

    return tasks
