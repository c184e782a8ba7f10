"""Job ``lake``: the topics that are to be kept for good, into Iceberg tables."""

import logging
import re
import threading
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final
from uuid import uuid4

import boto3
from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import StreamingQueryProgress
from pyspark.sql.streaming.query import StreamingQuery

from clients.aws import AwsSettings, client_config, s3_client
from clients.flows.store import CurrentFlows, FlowStore
from clients.lake.glue_catalog import GlueViews, ViewNotPutError
from clients.s3.lease import Lease, LeaseLostError, LeaseObject
from clients.s3.upkeep_requests import Upkeep, UpkeepRequests
from fleetlane.events.job_arguments import LakeArguments, LakeTables
from fleetlane.events.lake.tables import CATALOG, NAMESPACE, LakeTable
from fleetlane.events.lake.views import LakeView, views_of
from fleetlane.events.metrics import Dimension, JobMetric, lake_job
from fleetlane.events.times import now_ms
from fleetlane.events.topics import (
    FLEET_PARSED,
    FLEET_RECEIVED,
    PARKED,
    canonical_pattern,
    unique_pattern,
)
from glue_jobs.engine.checkpoint_notes import DedupedStreams, HadoopFiles
from glue_jobs.engine.cloudwatch_metrics import published_to
from glue_jobs.engine.query_listener import QueryListener, listen
from glue_jobs.engine.session import run, use_catalog
from glue_jobs.engine.supervisor import PeriodicTask, Supervisor, always_running
from glue_jobs.kafka.source_and_sink import in_batches, raw_records
from glue_jobs.lake.batches import TABLES_OF, LakeBatches
from glue_jobs.lake.upkeep import POLL_INTERVAL_S as UPKEEP_INTERVAL_S
from glue_jobs.lake.upkeep import LeaseGuard, UpkeepSchedule, compacted, erased, expired

VIEWS_INTERVAL_S: Final = 60
LAG_INTERVAL_S: Final = 60
_BEHIND: Final = "maxOffsetsBehindLatest"
TOPICS_OF: Final[Mapping[LakeTables, str]] = MappingProxyType(
    {
        LakeTables.EVENTS: f"{canonical_pattern()}|{unique_pattern()}|{PARKED}",
        LakeTables.FLEET: "|".join(map(re.escape, (FLEET_RECEIVED, FLEET_PARSED))),
    }
)
_CREATING: Final = threading.Lock()
"""Of two threads that find the namespace missing and create it, one would fail."""

_PROPERTIES: Final = {
    "format-version": "2",
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "20",
}
_log = logging.getLogger(__name__)


class StreamViews:
    """Puts what is new. A view whose flow is withdrawn stays: its events are still there."""

    def __init__(self, flows: CurrentFlows, views: GlueViews) -> None:
        self._flows, self._views = flows, views
        self._version: str | None = None
        self._due: list[LakeView] = []

    def put_new(self) -> None:
        """Put the views of flows that changed, and those that could not be put before.

        One that cannot be put is logged, and holds up no other.

        Raises:
            FlowsUnavailableError: S3 does not answer, or no flows were ever published.
        """
        published = self._flows.current()
        if published.version != self._version:
            self._version, self._due = published.version, list(views_of(published.flows))
        self._due = [view for view in self._due if not self._is_put(view)]

    def _is_put(self, view: LakeView) -> bool:
        try:
            if self._views.put(view):
                _log.warning("view %s is put", view.name)
        except ViewNotPutError as problem:
            _log.warning("%s; it is tried again", problem)
            return False
        return True


def stream_views(arguments: LakeArguments) -> StreamViews | None:
    """What the query of the events puts; ``None`` where no flows, or no Data Catalog, are given."""
    if (
        arguments.flows_bucket is None
        or arguments.tables is not LakeTables.EVENTS
        or arguments.lake_catalog_uri is not None
    ):
        return None
    flows = FlowStore(s3_client(AwsSettings()), arguments.flows_bucket)
    return StreamViews(flows, GlueViews(boto3.client("glue", config=client_config())))


class LakeLag(QueryListener):
    """Notes when the query of a name was level with its topics, however often it is started."""

    def __init__(self, query_name: str, *, now_ms: Callable[[], int]) -> None:
        super().__init__(query_name)
        self._now_ms = now_ms
        self._level_ms = now_ms()

    def seconds(self) -> float:
        return max(0, self._now_ms() - self._level_ms) / 1_000

    def on_batch(self, progress: StreamingQueryProgress) -> None:
        behind = [source.metrics for source in progress.sources]
        self.batch_done(behind, took_ms=progress.batchDuration)

    def on_idle(self) -> None:
        self._level_ms = self._now_ms()

    def batch_done(self, metrics: list[dict[str, Any]], *, took_ms: int) -> None:
        """Take a batch into account, by its sources' metrics.

        The lake then has all that its topics had at the batch's start, unless the batch was full.
        """
        if all(float(of_source.get(_BEHIND, 0)) == 0 for of_source in metrics):
            self._level_ms = self._now_ms() - took_ms


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
    PeriodicTask(
        name="upkeep of the lake's tables",
        run=_upkeep(session, arguments, guard, batches).do_due,
        interval_s=UPKEEP_INTERVAL_S,
        is_first_at_once=False,
        ends_on=LeaseLostError,
    ).run_beside(query)
    publish = published_to(arguments.metrics_namespace, Dimension.JOB, name)
    PeriodicTask(
        name="the lake's lag",
        run=lambda: publish({JobMetric.LAKE_LAG_SECONDS: lag.seconds()}),
        interval_s=LAG_INTERVAL_S,
    ).run_beside(query)
    views = stream_views(arguments)
    if views is not None:
        PeriodicTask(
            name="views of streams", run=views.put_new, interval_s=VIEWS_INTERVAL_S
        ).run_beside(query)
    return query


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


def ensure_table(session: SparkSession, table: LakeTable) -> None:
    """Create ``table`` where it is missing; safe to repeat, and in several threads.

    One that an older release made gets the columns that it lacks; its rows have nothing in them.
    """
    columns = ", ".join(map(str, table.columns))
    properties = ", ".join(f"'{name}'='{value}'" for name, value in _PROPERTIES.items())
    with _CREATING:
        session.sql(f"CREATE NAMESPACE IF NOT EXISTS {CATALOG}.{NAMESPACE}")
        session.sql(
            f"CREATE TABLE IF NOT EXISTS {table.full_name} ({columns}) USING iceberg"
            f" PARTITIONED BY ({', '.join(table.partitioned_by)}) TBLPROPERTIES ({properties})"
        )
        there = set(session.table(table.full_name).columns)
        missing = [str(column) for column in table.columns if column.name not in there]
        if missing:
            session.sql(f"ALTER TABLE {table.full_name} ADD COLUMNS ({', '.join(missing)})")


if __name__ == "__main__":
    run("lake", start, LakeArguments)
