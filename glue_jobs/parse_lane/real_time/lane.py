"""A lane that runs in real time where it can: when it does so, and when in micro-batches."""

import logging
import os
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from enum import StrEnum, auto
from functools import cached_property, partial
from typing import Final

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from clients.kafka.reader import KafkaReader, KafkaUnreadableError
from fleetlane.events.heartbeats import Heartbeat, heartbeat_from
from fleetlane.events.job_arguments import ParseLaneArguments
from fleetlane.events.metrics import LaneMetric
from fleetlane.events.times import now_ms
from fleetlane.events.topics import mirrored_group
from glue_jobs.engine.cloudwatch_metrics import METRICS_INTERVAL_S, Publish
from glue_jobs.engine.session import active_queries, session_with
from glue_jobs.engine.supervisor import DesiredQuery, PeriodicTask, Supervisor
from glue_jobs.kafka.admin import KafkaAdmin, Partition
from glue_jobs.kafka.mirrored_offsets import provisional_offsets
from glue_jobs.kafka.source_and_sink import TRIGGER_MS_MIN
from glue_jobs.parse_lane.lane_metrics import LaneListener
from glue_jobs.parse_lane.real_time.probe import PROBE, coming_heartbeats, runs_in_real_time
from glue_jobs.parse_lane.real_time.query import SETTINGS, started_in_real_time
from glue_jobs.parse_lane.real_time.slots import Clocks, SlotCheck, TaskSlots, task_slots
from glue_jobs.parse_lane.real_time.watch import RealTimeWatch

WATCH_INTERVAL_S: Final = 1

FAILURES_MAX: Final = 3
FAILED_PAUSE_S: Final = 600
"""After so many runs in a row that ended before all tasks began, micro-batches for so long; so too
after a canary that did not come back: Kafka may have failed, or no executor been there yet."""

_log = logging.getLogger(__name__)


class Mode(StrEnum):
    """How the lane's query runs."""

    REAL_TIME = auto()
    CATCHING_UP = auto()
    """In micro-batches of bounded size, with progress that both modes can go on from."""
    MICRO_BATCHES = auto()
    """As a lane without real time."""


class RealTimeLane:
    """The one query of a lane: in real time, once a canary came through and little waits."""

    def __init__(
        self,
        session: SparkSession,
        arguments: ParseLaneArguments,
        *,
        source: tuple[str, str],
        start_batches: Callable[[ParseLaneArguments], StreamingQuery],
        publish: Publish,
    ) -> None:
        """``source``: the query's name, and the pattern of the topics that it reads."""
        self._session, self._arguments = session_with(session, SETTINGS), arguments
        (self._name, self._pattern), self._start_batches = source, start_batches
        self._admin = KafkaAdmin(session, arguments)
        self._watch = RealTimeWatch(stalled_after_s=arguments.limits.stalled_after_s)
        self._slots = SlotCheck(self._task_slots, lambda: len(self._partitions()))
        self._clocks, self._publish = Clocks(now_ms), publish
        self._metrics = LaneListener(self._name, publish=publish, now_ms=now_ms)
        self._is_possible: bool | None = None
        self._query: StreamingQuery | None = None
        self._batches_until_s, self._failures = -1.0, 0

    @cached_property
    def _reader(self) -> KafkaReader:
        return coming_heartbeats(self._arguments)

    def supervised(self) -> Supervisor:
        """Start the query and what watches it; returns at once, with what keeps it running."""
        supervisor = Supervisor(self._desired, restart_s=0)
        supervisor.check(hides_errors=False)
        for name, run, interval_s in (
            ("canary in real time", self._probe, FAILED_PAUSE_S),
            ("heartbeats", partial(self._check, supervisor), WATCH_INTERVAL_S),
            ("task slots", self._publish_surplus, METRICS_INTERVAL_S),
        ):
            PeriodicTask(name=name, run=run, interval_s=interval_s).run_beside(supervisor)
        return supervisor

    def _publish_surplus(self) -> None:
        self._publish({LaneMetric.SURPLUS_PARTITIONS: self._slots.surplus})

    def _probe(self) -> None:
        if not self._is_possible:
            self._is_possible = runs_in_real_time(self._session, self._arguments)

    def _desired(self) -> Mapping[str, DesiredQuery]:
        mode = self._mode()
        return {self._name: DesiredQuery(start=partial(self._start, mode), settings=mode)}

    def _mode(self) -> Mode:
        if self._is_possible is False:
            return Mode.MICRO_BATCHES
        if self._is_possible is None or not self._slots.fits():
            return Mode.CATCHING_UP
        if self._query is not None and self._query.isActive:
            batch_s = self._arguments.real_time_batch_ms / 1000
            self._watch.expect(self._slots.partitions, within_s=batch_s)
            return Mode.REAL_TIME
        must_wait = time.monotonic() < self._batches_until_s
        return Mode.CATCHING_UP if must_wait or self._has_backlog() else Mode.REAL_TIME

    def _task_slots(self) -> TaskSlots:
        """Each other query of this application that ever had a batch keeps one."""
        names = {one.name for one in active_queries(self._session) if one.lastProgress is not None}
        return task_slots(self._session, others=len(names - {self._name, PROBE}))

    def _has_backlog(self) -> bool:
        """Whether more waits than one batch may have; raises ``KafkaAdminError``."""
        partitions = self._partitions()
        ends, read = self._admin.ends(partitions), self._admin.committed(mirrored_group(self._name))
        begins = self._admin.beginnings(partitions)
        # At least 0: a topic made anew ends below what was read of it, and hides nothing.
        behind = sum(
            max(0, end - max(read.get(one, 0), begins.get(one, 0))) for one, end in ends.items()
        )
        return behind > self._arguments.limits.messages_per_batch_max

    def _partitions(self) -> list[Partition]:
        topics = self._admin.matching(self._pattern)
        return list(self._admin.partitions(topics)) if topics else []

    def _start(self, mode: Mode) -> StreamingQuery:
        self._query = None
        if mode is Mode.REAL_TIME:
            tasks = len(self._partitions())
            query = started_in_real_time(
                self._session, self._arguments, name=self._name, pattern=self._pattern
            )
            self._watch.begin(str(query.runId), tasks=tasks)
            self._clocks.begin()
            provisional_offsets().note(self._name, {})
            self._query = query
            _log.warning("query %s runs in real time, with %d tasks", self._name, tasks)
            return query
        provisional_offsets().forget(self._name)
        _log.warning("query %s runs in micro-batches: %s", self._name, mode)
        catching_up = replace(self._arguments, trigger_ms=TRIGGER_MS_MIN)
        is_plain = mode is Mode.MICRO_BATCHES
        return self._start_batches(self._arguments if is_plain else catching_up)

    def _check(self, supervisor: Supervisor) -> None:
        """Take note of heartbeats, and end a query that has none, or that reports a problem."""
        query = self._query
        if query is None:
            return
        try:
            records = self._reader.read_available()
        except KafkaUnreadableError:
            self._watch.excuse()
            return
        beats = [beat for one in records if (beat := heartbeat_from(one.value)) is not None]
        self._watch.note(beats)
        self._compare_clocks(query, beats)
        if self._query is query:
            provisional_offsets().note(self._name, self._watch.offsets)
        if self._watch.has_begun:
            self._failures = 0
        for partition in self._watch.dropped(query.lastProgress):
            _log.error("query %s committed no offset of %s: it comes again", self._name, partition)
        problem = self._watch.problem() if query.isActive else None
        if problem is not None:
            _log.error("query %s is started again: %s", self._name, problem)
            self._stop(query)
        if not query.isActive and self._query is query and supervisor.isActive:
            self._note_end()
            supervisor.check()
        # Last: while CloudWatch does not answer, this blocks for longer than a task may be silent.
        self._metrics.gather(self._watch.taken_values())

    def _compare_clocks(self, query: StreamingQuery, beats: Iterable[Heartbeat]) -> None:
        for beat in beats:
            if beat.run == str(query.runId):
                self._clocks.note(beat.task, beat.sent_ms)
        for problem in self._clocks.new_problems():
            _log.error("query %s: %s, so it ends batches too early or late", self._name, problem)

    def _stop(self, query: StreamingQuery) -> None:
        """Stop it; where that fails, nothing but another application helps."""
        try:
            query.stop()
        except Exception as problem:  # noqa: BLE001 - a thread's end would not end its application
            _log.error("query %s cannot be ended, so its application ends: %s", self._name, problem)
            os._exit(1)

    def _note_end(self) -> None:
        self._query, self._failures = None, self._failures + 1
        if self._failures >= FAILURES_MAX:
            _log.error("query %s did not begin %d times in real time", self._name, self._failures)
            self._batches_until_s = time.monotonic() + FAILED_PAUSE_S
            self._failures = 0
