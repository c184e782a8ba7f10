"""Several jobs in one Spark application: all of them on a laptop, five applications in AWS.

``--jobs "parse_lane --lane fast; fleet_metadata"`` names the jobs, each with arguments of its own;
the other arguments go to every job.
"""

import logging
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

from pyspark.sql import SparkSession

from fleetlane.events import job_arguments
from fleetlane.events.metrics import ApplicationMetric, Dimension, lake_job
from fleetlane.events.s3_keys import STARTED_MARKERS, STOP_MARKERS
from fleetlane.events.times import now_ms
from glue_jobs.deduplicate import main as deduplicate
from glue_jobs.engine.checkpoint_notes import HadoopFiles
from glue_jobs.engine.cloudwatch_metrics import METRICS_INTERVAL_S, Publish, published_to
from glue_jobs.engine.driver_mark import DriverMark, ReplacedDriverError
from glue_jobs.engine.ended_queries import ended_queries
from glue_jobs.engine.session import active_queries, check_alive, spark_session
from glue_jobs.engine.stalls import StallWatch, running_tasks
from glue_jobs.engine.supervisor import STOP_LIMIT_S, PeriodicTask, Supervisor, stop_between_batches
from glue_jobs.fleet_metadata import main as fleet_metadata
from glue_jobs.fleet_watch import main as fleet_watch
from glue_jobs.kafka.admin import KafkaAdmin
from glue_jobs.kafka.mirrored_offsets import MirroredOffsets, provisional_offsets
from glue_jobs.kafka.query_runs import wait_for_ends
from glue_jobs.lake import main as lake
from glue_jobs.parse_lane import main as parse_lane
from glue_jobs.parse_lane.real_time.probe import PROBE
from glue_jobs.standing_ledger import main as standing_ledger

POLL_INTERVAL_S: Final = 1
STOP_POLL_INTERVAL_S: Final = 10
"""Each poll looks for two files and reads one: in S3, some 2 USD a month for each application."""

OFFSETS_INTERVAL_S: Final = 5
BEGUN_INTERVAL_S: Final = 2
_log = logging.getLogger(__name__)
type _Start = Callable[[SparkSession, Any], Supervisor]
_JOBS: Final[Mapping[str, tuple[_Start, type[job_arguments.JobArguments]]]] = {
    "parse_lane": (parse_lane.start, job_arguments.ParseLaneArguments),
    "fleet_metadata": (fleet_metadata.start, job_arguments.FleetMetadataArguments),
    "fleet_watch": (fleet_watch.start, job_arguments.FleetWatchArguments),
    "deduplicate": (deduplicate.start, job_arguments.DeduplicateArguments),
    "lake": (lake.start, job_arguments.LakeArguments),
    "standing_ledger": (standing_ledger.start, job_arguments.StandingLedgerArguments),
}


def start(session: SparkSession, jobs: str, shared: Sequence[str]) -> list[Supervisor]:
    """Start every job that ``jobs`` names; returns at once. Raises ``BadArgumentsError``."""
    return [_JOBS[name][0](session, arguments) for name, arguments in _read(jobs, shared)]


def query_names(jobs: str, shared: Sequence[str]) -> list[str]:
    """The names of all queries of ``jobs``, or what theirs begin with; raises as ``start`` does."""
    return [_query_name(name, arguments) for name, arguments in _read(jobs, shared)]


def _query_name(job: str, arguments: job_arguments.JobArguments) -> str:
    match arguments:
        case job_arguments.ParseLaneArguments(lane=lane):
            return f"{job}_{lane}"
        case job_arguments.LakeArguments(tables=tables):
            return lake_job(tables)
        case _:
            return job


def _read(jobs: str, shared: Sequence[str]) -> Iterator[tuple[str, job_arguments.JobArguments]]:
    for job in filter(str.strip, jobs.split(";")):
        name, *own = shlex.split(job)
        if name not in _JOBS:
            problem = f"job {name!r} is none of {', '.join(_JOBS)}"
            raise job_arguments.BadArgumentsError("host", problem)
        yield name, _JOBS[name][1].from_argv([*shared, *own])


def main(argv: Sequence[str]) -> None:
    """Start the jobs and stay; a query that fails is started again, and ends no other.

    Until the checkpoint folder has a file ``stop/<application>``: all queries then end between
    batches, as ending them otherwise would repeat some, and the file is deleted. Once every query
    has begun, there is a file ``started/<application>``: a deploy waits for it. Where another
    driver writes that file later, this one ends in the same way, and raises
    ``ReplacedDriverError``.
    """
    arguments = job_arguments.HostArguments.from_argv(argv)
    session = spark_session(
        arguments.application,
        region=arguments.region,
        shuffle_partitions=arguments.shuffle_partitions,
    )
    shared = shared_arguments(arguments, argv)
    files = HadoopFiles(session, shared.checkpoint_folder)
    mark = DriverMark(files, f"{STARTED_MARKERS}{arguments.application}")
    supervisors = start(session, arguments.jobs, argv)
    names = query_names(arguments.jobs, argv)
    stop_marker = f"{STOP_MARKERS}{arguments.application}"
    watch = _watch(
        session,
        arguments.application,
        shared,
        names,
        is_to_stop=lambda: files.read(stop_marker) is not None or mark.look(),
    )
    begun = PeriodicTask(
        name="the file that says which driver has begun",
        run=lambda: mark.write_once(lambda: all(one.has_begun() for one in supervisors)),
        interval_s=BEGUN_INTERVAL_S,
    )
    while not watch.is_to_stop():
        check_alive(session)
        begun.run_if_due()
        for supervisor in supervisors:
            supervisor.awaitTermination(POLL_INTERVAL_S)
    _stop(session, supervisors)
    if mark.is_replaced:
        raise ReplacedDriverError(arguments.application)
    files.delete(stop_marker)


def _watch(
    session: SparkSession,
    application: str,
    shared: job_arguments.JobArguments,
    names: Sequence[str],
    *,
    is_to_stop: Callable[[], bool],
) -> "ApplicationWatch":
    stalls = StallWatch(running_tasks(session))
    offsets = MirroredOffsets(
        KafkaAdmin(session, shared),
        query_names=names,
        now_ms=now_ms,
        stalled_ms=stalls.stalled_ms,
        provisional=provisional_offsets().of,
    )
    return ApplicationWatch(
        is_marked=is_to_stop,
        mirrored=lambda: _mirrored(offsets, stalls, session),
        counts=lambda: {
            ApplicationMetric.QUERY_RESTARTS: ended_queries().taken(),
            ApplicationMetric.STALLED_QUERIES: stalls.ended.taken(),
        },
        hours_left=offsets.hours_left,
        publish=published_to(shared.metrics_namespace, Dimension.APPLICATION, application),
    )


def _stop(session: SparkSession, supervisors: Sequence[Supervisor]) -> None:
    for supervisor in supervisors:
        supervisor.start_no_more()
    if not stop_between_batches(active_queries(session)):
        _log.warning("batches took over %d s: cancelled, they come again", STOP_LIMIT_S)
    for supervisor in supervisors:
        supervisor.stop()
    wait_for_ends()


def _mirrored(offsets: MirroredOffsets, stalls: StallWatch, session: SparkSession) -> int:
    active = [one for one in active_queries(session) if one.name != PROBE]  # a canary's own
    expired = offsets.mirror(active)  # unless Kafka answers, nothing counts as stalled
    in_batches = [one for one in active if provisional_offsets().of(one.name or "") is None]
    check = partial(stalls.check, in_batches)
    PeriodicTask(name="queries without progress", run=check, interval_s=0).run_if_due()
    return expired


def shared_arguments(
    host: job_arguments.HostArguments, argv: Sequence[str]
) -> job_arguments.JobArguments:
    """What the jobs have in common, given to all or each; raises ``BadArgumentsError``."""
    first, *_ = host.jobs.split(";")
    return job_arguments.JobArguments.from_argv([*argv, *shlex.split(first)])


class ApplicationWatch:
    """Polls in the thread that waits for the queries. What cannot be polled is logged.

    ``is_marked`` says whether the application is to stop. ``mirrored`` commits to Kafka how far the
    queries are, and returns how many records expired before their query read them; ``hours_left``,
    in how many hours one does. What ``counts`` counts happened since it was asked last: it is
    published while Kafka does not answer, too.
    """

    def __init__(
        self,
        *,
        is_marked: Callable[[], bool],
        mirrored: Callable[[], int],
        counts: Callable[[], Mapping[str, float]],
        hours_left: Callable[[], int],
        publish: Publish,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._is_marked, self._mirrored, self._publish = is_marked, mirrored, publish
        self._counts, self._hours_left = counts, hours_left
        self._is_to_stop, self._expired = False, 0

        def task(name: str, run: Callable[[], None], interval_s: int) -> PeriodicTask:
            return PeriodicTask(name=name, run=run, interval_s=interval_s, monotonic=monotonic)

        self._metrics = task("the application's metrics", self._publish_all, METRICS_INTERVAL_S)
        self._offsets = task("mirrored offsets", self._mirror, OFFSETS_INTERVAL_S)
        self._stop = task("the file that stops the application", self._poll, STOP_POLL_INTERVAL_S)

    def is_to_stop(self) -> bool:
        """Poll what is due, and return whether all queries are to stop."""
        self._offsets.run_if_due()
        self._stop.run_if_due()
        return self._is_to_stop

    def _poll(self) -> None:
        self._is_to_stop = self._is_marked()

    def _mirror(self) -> None:
        try:
            self._expired = self._mirrored()
            if self._expired:
                _log.error("%d records expired before they were read", self._expired)
        finally:
            self._metrics.run_if_due()

    def _publish_all(self) -> None:
        values: dict[str, float] = dict(self._counts())
        values[ApplicationMetric.EXPIRED_UNREAD] = self._expired
        try:
            values[ApplicationMetric.EXPIRING_UNREAD] = self._hours_left()
        finally:
            self._publish(values)


if __name__ == "__main__":
    main(sys.argv[1:])
