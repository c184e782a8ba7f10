"""Job ``lake``: the topics that are to be kept for good, into Iceberg tables."""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final
from uuid import uuid4

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from clients.aws import AwsSettings, s3_client
from clients.s3.lease import Lease, LeaseLostError, LeaseObject
from clients.s3.upkeep_requests import Upkeep, UpkeepRequests
from fleetlane.events.job_arguments import LakeArguments, LakeTables
from fleetlane.events.metrics import Dimension, JobMetric, lake_job
from fleetlane.events.times import now_ms
from fleetlane.events.topics import (
    FLEET_PARSED,
    FLEET_RECEIVED,
    PARKED,
    canonical_pattern,
    unique_pattern,
)
from glue_jobs.engine.batch_query import in_batches
from glue_jobs.engine.checkpoint_notes import DedupedStreams
from glue_jobs.engine.cloudwatch_metrics import published_to
from glue_jobs.engine.hadoop_files import HadoopFiles
from glue_jobs.engine.lake_catalog import use_catalog
from glue_jobs.engine.periodic_tasks import PeriodicTask
from glue_jobs.engine.query_listener import listen
from glue_jobs.engine.session import run
from glue_jobs.engine.supervisor import Supervisor, always_running
from glue_jobs.kafka.source_and_sink import raw_records
from glue_jobs.lake.batches import TABLES_OF, LakeBatches
from glue_jobs.lake.catalog import ensure_table
from glue_jobs.lake.lag import PUBLISH_INTERVAL_S as LAG_INTERVAL_S
from glue_jobs.lake.lag import LakeLag
from glue_jobs.lake.lease_guard import LeaseGuard
from glue_jobs.lake.stream_views import POLL_INTERVAL_S as VIEWS_INTERVAL_S
from glue_jobs.lake.stream_views import stream_views
from glue_jobs.lake.upkeep import compacted, erased, expired
from glue_jobs.lake.upkeep_schedule import POLL_INTERVAL_S as UPKEEP_INTERVAL_S
from glue_jobs.lake.upkeep_schedule import UpkeepSchedule

TOPICS_OF: Final[Mapping[LakeTables, str]] = MappingProxyType(
    {
        LakeTables.EVENTS: f"{canonical_pattern()}|{unique_pattern()}|{PARKED}",
        LakeTables.FLEET: "|".join(map(re.escape, (FLEET_RECEIVED, FLEET_PARSED))),
    }
)


def start(session: SparkSession, arguments: LakeArguments) -> Supervisor:
    """Start the query of some tables, and its periodic tasks; returns at once.

    Its first batch waits until no other process writes the tables. When it fails, as when
    the catalog is unavailable, it is started again, and the jobs beside it go on.
    """
    use_catalog(session, warehouse=arguments.lake_warehouse, uri=arguments.lake_catalog_uri)
    guard = _lease_guard(session, arguments)
    name = lake_job(arguments.tables)
    lag = LakeLag(name, now_ms=now_ms)
    listen(session, lag)
    return always_running(name, lambda: _start_query(session, arguments, guard, lag))


def _start_query(
    session: SparkSession, arguments: LakeArguments, guard: LeaseGuard, lag: LakeLag
) -> StreamingQuery:
    deduped = DedupedStreams(HadoopFiles(session, arguments.checkpoint_folder))
    batches = LakeBatches(session, arguments, guard, deduped=deduped)
    records = raw_records(
        session,
        arguments,
        pattern=TOPICS_OF[arguments.tables],
        messages_per_batch_max=arguments.lake_records_per_batch_max,
    )
    name, trigger_ms = lake_job(arguments.tables), arguments.lake_trigger_ms
    query = in_batches(records, arguments, name=name, trigger_ms=trigger_ms, each=batches.write)
    for task in _tasks(session, arguments, guard, batches, lag):
        task.run_beside(query)
    return query


def _tasks(
    session: SparkSession,
    arguments: LakeArguments,
    guard: LeaseGuard,
    batches: LakeBatches,
    lag: LakeLag,
) -> list[PeriodicTask]:
    schedule = _upkeep(session, arguments, guard, batches)
    publish = published_to(arguments.metrics_namespace, Dimension.JOB, lake_job(arguments.tables))
    tasks = [
        PeriodicTask(
            name="upkeep of the lake's tables",
            run=schedule.do_due,
            interval_s=UPKEEP_INTERVAL_S,
            is_first_at_once=False,
            ends_on=LeaseLostError,
        ),
        PeriodicTask(
            name="the lake's lag",
            run=lambda: publish({JobMetric.LAKE_LAG_SECONDS: lag.seconds()}),
            interval_s=LAG_INTERVAL_S,
        ),
    ]
    views = stream_views(arguments)
    if views is not None:
        tasks.append(
            PeriodicTask(name="views of streams", run=views.put_new, interval_s=VIEWS_INTERVAL_S)
        )
    return tasks


def _lease_guard(session: SparkSession, arguments: LakeArguments) -> LeaseGuard:
    place = LeaseObject(s3_client(AwsSettings()), arguments.lake_bucket, lake_job(arguments.tables))
    lease = Lease(place, holder=str(uuid4()), lease_s=arguments.lake_lease_s)

    def prepare() -> None:
        for table in TABLES_OF[arguments.tables]:
            ensure_table(session, table)

    return LeaseGuard(lease, prepare=prepare)


def _upkeep(
    session: SparkSession, arguments: LakeArguments, guard: LeaseGuard, batches: LakeBatches
) -> UpkeepSchedule:
    tables = TABLES_OF[arguments.tables]

    def reread(done: Mapping[str, str]) -> Mapping[str, str]:
        batches.read_again()
        return done

    return UpkeepSchedule(
        UpkeepRequests(s3_client(AwsSettings()), arguments.lake_bucket, arguments.tables),
        guard,
        works={
            Upkeep.COMPACT: lambda: reread(compacted(session, tables)),
            Upkeep.EXPIRE: lambda: reread(expired(session, tables, now_ms=now_ms())),
        },
        erase=lambda device_id: reread(erased(session, tables, device_id)),
        now_ms=now_ms,
    )


if __name__ == "__main__":
    run("lake", start, LakeArguments)
