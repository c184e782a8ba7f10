"""Job ``lake``: the topics that are to be kept for good, into Iceberg tables."""

import re
import threading
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Final
from uuid import uuid4

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from clients.aws import AwsSettings, s3_client
from clients.flows.store import CachedFlows, FlowStore
from clients.s3.lease import Lease, LeaseObject
from clients.s3.payload_bucket import PayloadBucket, copying_client
from clients.s3.upkeep_requests import ErasedDevices, Upkeep, UpkeepRequests
from fleetlane.events.job_arguments import LakeArguments, LakeTables
from fleetlane.events.lake.tables import PROPERTIES, LakeTable
from fleetlane.events.lanes import Lane
from fleetlane.events.metrics import Dimension, JobMetric, lake_job
from fleetlane.events.names import checked_device_id
from fleetlane.events.times import HOUR_MS, now_ms
from fleetlane.events.topic_patterns import canonical_pattern, raw_pattern, unique_pattern
from fleetlane.events.topics import FLEET_PARSED, FLEET_RECEIVED, PARKED
from glue_jobs.engine.checkpoint_notes import DedupedStreams, HadoopFiles
from glue_jobs.engine.cloudwatch_metrics import METRICS_INTERVAL_S, published_to
from glue_jobs.engine.query_listener import LakeLag, listen
from glue_jobs.engine.session import iceberg_table, java_class, table_name, use_catalog
from glue_jobs.engine.supervisor import PeriodicTask, Supervisor, always_running
from glue_jobs.kafka.source_and_sink import QueryPlan, in_batches, raw_records
from glue_jobs.lake.archive import ArchivedBodies, delete_bodies, delete_old_days
from glue_jobs.lake.batches import TABLES_OF, LakeBatches
from glue_jobs.lake.stream_views import stream_views
from glue_jobs.lake.upkeep import POLL_INTERVAL_S as UPKEEP_INTERVAL_S
from glue_jobs.lake.upkeep import LeaseGuard, UpkeepSchedule, compacted, erased, expired

VIEWS_INTERVAL_S: Final = 60
COUNT_INTERVAL_S: Final = 5
COUNT_RESTS: Final = 3
"""Counting takes a quarter of the time at most, however much a day has."""

STILL_ARRIVES_MS: Final = HOUR_MS
"""So long after its erasure a device may still be let in, by a form or policy issued before."""

_ARCHIVE_SHARE: Final = 10
"""Of a batch's records: a raw one has up to 256 KiB, and is on a worker's disk three times."""

POLL_MS: Final = 5_000
"""How often a query looks whether a batch is full by now, so that a full one never waits."""

TOPICS_OF: Final[Mapping[LakeTables, str]] = {
    LakeTables.EVENTS: f"{canonical_pattern()}|{unique_pattern()}|{PARKED}",
    LakeTables.FLEET: "|".join(map(re.escape, (FLEET_RECEIVED, FLEET_PARSED))),
    LakeTables.ARCHIVE: raw_pattern(*Lane),
}
_CREATING: Final = threading.Lock()
"""Of two threads that find the namespace missing and create it, one would fail."""

_SORTED: Final = {"write.distribution-mode": "hash", "write.target-file-size-bytes": str(256 << 20)}
"""A file a partition and commit; by ranges, Iceberg's own choice, the batch would be read twice."""


def start(session: SparkSession, arguments: LakeArguments) -> Supervisor:
    """Start the query of some tables, and its periodic tasks; returns at once.

    Its first batch waits until no other process writes the tables. When it fails, as when
    the catalog is unavailable, it is started again, and the jobs beside it go on.
    """
    uri, database = arguments.lake_catalog_uri, arguments.lake_database
    use_catalog(session, warehouse=arguments.lake_warehouse, uri=uri, database=database)
    name = lake_job(arguments.tables)
    place = LeaseObject(s3_client(AwsSettings()), arguments.lake_bucket, name)
    lease = Lease(place, holder=str(uuid4()), lease_s=arguments.lake_lease_s)

    def prepare() -> None:
        for table in TABLES_OF[arguments.tables]:
            ensure_table(session, table)

    guard = LeaseGuard(lease, prepare=prepare)
    lag = LakeLag(name, now_ms=now_ms, waits_ms_max=arguments.lake_trigger_ms)
    listen(session, lag)
    supervisor = always_running({name: lambda: _start_query(session, arguments, guard, lag)})
    supervisor.at_stop, supervisor.waits_for_another = guard.release, lambda: lease.waits
    return supervisor


def _start_query(
    session: SparkSession, arguments: LakeArguments, guard: LeaseGuard, lag: LakeLag
) -> StreamingQuery:
    devices = ErasedDevices(s3_client(AwsSettings()), arguments.lake_bucket, arguments.tables)
    batches = LakeBatches(
        session=session,
        which=arguments.tables,
        guard=guard,
        deduped=DedupedStreams(HadoopFiles(session, arguments.checkpoint_folder)),
        erased_until_ms=devices.erased_until_ms,
        flows=CachedFlows(FlowStore(s3_client(AwsSettings()), arguments.flows_bucket)),
        bodies=_bodies(arguments),
    )
    share = _ARCHIVE_SHARE if arguments.tables is LakeTables.ARCHIVE else 1
    plan = QueryPlan(
        name=lake_job(arguments.tables),
        pattern=TOPICS_OF[arguments.tables],
        trigger_ms=min(POLL_MS, arguments.lake_trigger_ms),
        tables=[f"{arguments.lake_database}.{table.name}" for table in TABLES_OF[arguments.tables]],
    )
    records = raw_records(
        session,
        arguments,
        pattern=plan.pattern,
        messages_per_batch_max=max(1, arguments.lake_records_per_batch_max // share),
        waits_ms_max=arguments.lake_trigger_ms,
    )
    query = in_batches(records, arguments, plan=plan, each=batches.write)
    PeriodicTask(
        name="upkeep of the lake's tables",
        run=_upkeep(session, arguments, guard, batches, devices).do_due,
        interval_s=UPKEEP_INTERVAL_S,
        is_first_at_once=False,
    ).run_beside(query)
    if arguments.tables is LakeTables.FLEET:
        PeriodicTask(
            name="counts by day", run=batches.count, interval_s=COUNT_INTERVAL_S, rests=COUNT_RESTS
        ).run_beside(query)
    publish = published_to(arguments.metrics_namespace, Dimension.JOB, plan.name)
    PeriodicTask(
        name="the lake's lag",
        run=lambda: publish({JobMetric.LAKE_LAG_SECONDS: lag.seconds()}),
        interval_s=METRICS_INTERVAL_S,
    ).run_beside(query)
    views = stream_views(arguments)
    if views is not None:
        PeriodicTask(
            name="views of streams", run=views.put_new, interval_s=VIEWS_INTERVAL_S
        ).run_beside(query)
    return query


def _bodies(arguments: LakeArguments) -> ArchivedBodies:
    s3 = copying_client(AwsSettings())
    waiting, archived = arguments.payload_bucket, arguments.lake_bucket
    publish = published_to(arguments.metrics_namespace, Dimension.JOB, lake_job(LakeTables.ARCHIVE))
    return ArchivedBodies(
        waiting=PayloadBucket(s3, waiting),
        archived=PayloadBucket(s3, archived),
        archived_bucket=archived,
        on_unavailable=lambda bodies: publish({JobMetric.UNARCHIVED_BODIES: bodies}),
    )


def _upkeep(
    session: SparkSession,
    arguments: LakeArguments,
    guard: LeaseGuard,
    batches: LakeBatches,
    devices: ErasedDevices,
) -> UpkeepSchedule:
    tables, is_archive = TABLES_OF[arguments.tables], arguments.tables is LakeTables.ARCHIVE

    def of_each(work: Callable[[LakeTable], str], among: Iterable[LakeTable]) -> dict[str, str]:
        try:
            return {table.name: work(table) for table in among}
        finally:
            batches.read_again()

    def expire() -> Mapping[str, str]:
        if is_archive:
            delete_old_days(session, now_ms=now_ms(), days_max=arguments.archive_days)
        return of_each(partial(expired, session, now_ms=now_ms()), tables)

    def erase(device_id: str) -> Mapping[str, str]:
        devices.note(checked_device_id(device_id), until_ms=now_ms() + STILL_ARRIVES_MS)
        if is_archive:
            delete_bodies(session, _bodies(arguments), device_id)
        naming = [table for table in tables if "device_id" in table.column_names]
        return of_each(partial(erased, session, device_id=device_id), naming)

    return UpkeepSchedule(
        requests=UpkeepRequests(s3_client(AwsSettings()), arguments.lake_bucket, arguments.tables),
        guard=guard,
        works={
            Upkeep.COMPACT: lambda: of_each(
                partial(compacted, session, check=guard.lease.check), tables
            ),
            Upkeep.EXPIRE: expire,
        },
        erase=erase,
        now_ms=now_ms,
    )


def ensure_table(session: SparkSession, table: LakeTable) -> None:
    """Create ``table`` where it is missing; safe to repeat, and in several threads.

    One that an older release made gets the columns that it lacks; its rows have nothing in them.
    """
    name, columns = table_name(session, table), ", ".join(map(str, table.columns))
    properties = ", ".join(f"'{name}'='{value}'" for name, value in PROPERTIES.items())
    with _CREATING:
        session.sql(f"CREATE NAMESPACE IF NOT EXISTS {name.rpartition('.')[0]}")
        session.sql(
            f"CREATE TABLE IF NOT EXISTS {name} ({columns}) USING iceberg"
            f" PARTITIONED BY ({', '.join(table.partitions)}) TBLPROPERTIES ({properties})"
        )
        there = set(session.table(name).columns)
        missing = [str(column) for column in table.columns if column.name not in there]
        if missing:
            session.sql(f"ALTER TABLE {name} ADD COLUMNS ({', '.join(missing)})")
        if table.sorted_by:
            _sort(session, table)


def _sort(session: SparkSession, table: LakeTable) -> None:
    """Let Iceberg sort what is written; its own SQL for that needs an extension of Spark's."""
    terms = java_class(session, "org.apache.iceberg.expressions.Expressions")
    nulls = java_class(session, "org.apache.iceberg.NullOrder").NULLS_FIRST
    loaded = iceberg_table(session, table)
    if loaded.sortOrder().isUnsorted():
        given = loaded.updateProperties()
        for name, value in _SORTED.items():
            given.set(name, value)
        if table.row_group_bytes:
            given.set("write.parquet.row-group-size-bytes", str(table.row_group_bytes))
        given.commit()
        order = loaded.replaceSortOrder()
        for name in table.sorted_by:
            order.asc(terms.ref(name), nulls)
        order.commit()
