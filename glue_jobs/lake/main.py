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
    """Start the query of some tables, and what looks after these; returns at once.

    Its first batch waits until no other process writes the tables. When it fails, because the
    catalog is away for one, it is started again, and the jobs beside it do not notice.
    """
    use_catalog(session, warehouse=arguments.lake_warehouse, uri=arguments.lake_catalog_uri)
    guard = _lease_guard(session, arguments)
    lag = LakeLag(lake_job(arguments.tables), now_ms=now_ms)
    listen(session, lag)
    return always_running(lake_job(arguments.tables), lambda: _kept(session, arguments, guard, lag))


def _kept(
    session: SparkSession, arguments: LakeArguments, guard: LeaseGuard, lag: LakeLag
) -> StreamingQuery:
    deduped = DedupedStreams(HadoopFiles(session, arguments.checkpoint_folder))
    batches = LakeBatches(session, arguments, guard, deduped=deduped)
    query = _started(session, arguments, batches)
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
    for task in tasks:
        task.run_beside(query)
    return query


def _started(
    session: SparkSession, arguments: LakeArguments, batches: LakeBatches
) -> StreamingQuery:
    records = raw_records(
        session,
        arguments,
        pattern=TOPICS_OF[arguments.tables],
        messages_per_batch_max=arguments.lake_records_per_batch_max,
    )
    return in_batches(
        records,
        arguments,
        name=lake_job(arguments.tables),
        trigger_ms=arguments.lake_trigger_ms,
        each=batches.write,
    )


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

    def compact() -> Mapping[str, str]:
        done = compacted(session, tables)
        batches.read_again()
        return done

    def expire() -> Mapping[str, str]:
        done = expired(session, tables, now_ms=now_ms())
        batches.read_again()
        return done

    def erase(device_id: str) -> Mapping[str, str]:
        done = erased(session, tables, device_id)
        batches.read_again()
        return done

    return UpkeepSchedule(
        UpkeepRequests(s3_client(AwsSettings()), arguments.lake_bucket, arguments.tables),
        guard,
        works={Upkeep.COMPACT: compact, Upkeep.EXPIRE: expire},
        erase=erase,
        now_ms=now_ms,
    )


if __name__ == "__main__":
    run("lake", start, LakeArguments)
