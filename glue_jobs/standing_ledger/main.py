"""Job ``standing_ledger``: every minute, what was accepted against what ended or still waits."""

from collections.abc import Collection, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from clients.accepted_counts import AcceptedCounts, CloudWatchAcceptedCounts, LoggedAcceptedCounts
from clients.aws import AwsSettings, aws_client, s3_client
from clients.flows.store import CachedFlows, CurrentFlows, FlowStore
from clients.s3.spool import Spool, SpoolUnavailableError
from fleetlane.events.job_arguments import StandingLedgerArguments
from fleetlane.events.metrics import NO_FLOW_STREAM, STANDING_LEDGER, Dimension
from fleetlane.events.times import DAY_MS, now_ms
from fleetlane.events.topics import canonical_topic
from glue_jobs.engine.checkpoint_notes import DedupedStreams, HadoopFiles
from glue_jobs.engine.cloudwatch_metrics import published_to
from glue_jobs.engine.persisted_rows import computed
from glue_jobs.engine.session import use_catalog
from glue_jobs.engine.supervisor import PeriodicTask, Supervisor
from glue_jobs.kafka.admin import KafkaAdmin, Offsets
from glue_jobs.kafka.source_and_sink import write_alerts
from glue_jobs.standing_ledger.balance import LedgerHour, landed_hours
from glue_jobs.standing_ledger.check import LedgerCheck
from glue_jobs.standing_ledger.lake_tables import LedgerTables
from glue_jobs.standing_ledger.messages import MISSING, LakeRows, judged_messages
from glue_jobs.standing_ledger.positions import NotedPositions, positions_now

_RESTS: Final = 3
"""A check reads whole hours, and shares its workers: it takes a quarter of the time at most."""

_STUCK_MAX: Final = 100
"""More objects than that are a backlog, however old."""

POSITIONS: Final = pa.schema(
    [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        *((name, pa.int64()) for name in ("begins", "passed", "kept", "archived")),
    ]
)


def start(session: SparkSession, arguments: StandingLedgerArguments) -> Supervisor:
    """Start checking, in a thread of its own; returns at once.

    A check that fails is logged, and the next one comes: it ends none of the jobs beside it.
    """
    uri, database = arguments.lake_catalog_uri, arguments.lake_database
    use_catalog(session, warehouse=arguments.lake_warehouse, uri=uri, database=database)
    check = _check(session, arguments)

    def check_in_pool() -> None:
        session.sparkContext.setLocalProperty("spark.scheduler.pool", STANDING_LEDGER)
        check.run()

    never_ending = Supervisor(dict)
    PeriodicTask(
        name="the standing ledger",
        run=check_in_pool,
        interval_s=arguments.ledger_interval_s,
        rests=_RESTS,
    ).run_beside(never_ending)
    return never_ending


def _check(session: SparkSession, arguments: StandingLedgerArguments) -> LedgerCheck:
    s3 = s3_client(AwsSettings())
    flows = CachedFlows(FlowStore(s3, arguments.flows_bucket), max_age_s=arguments.flows_max_age_s)
    bucket = arguments.spool_bucket
    spool = None if bucket is None else Spool(s3, bucket)
    tables = LedgerTables(session, has_archive=arguments.archive_days > 0)
    kafka = KafkaAdmin(session, arguments)
    deduped = DedupedStreams(HadoopFiles(session, arguments.checkpoint_folder))
    return LedgerCheck(
        tables=tables,
        positions=lambda: positions_now(
            kafka, now_ms=now_ms, deduped=set(map(canonical_topic, deduped.windows_s()))
        ),
        landed=partial(landed_messages, session, tables, flows),
        counts=_counts(arguments),
        is_spooling=lambda: spool is not None and is_spooling(spool),
        send=partial(write_alerts, session, arguments),
        publish=published_to(arguments.metrics_namespace, Dimension.JOB, STANDING_LEDGER),
        now_ms=now_ms,
        has_archive=arguments.archive_days > 0,
    )


def _counts(arguments: StandingLedgerArguments) -> AcceptedCounts | None:
    if arguments.accepted_log is not None:
        return LoggedAcceptedCounts(Path(arguments.accepted_log))
    if arguments.metrics_namespace is None:
        return None
    return CloudWatchAcceptedCounts(aws_client("cloudwatch"), arguments.metrics_namespace)


def is_spooling(spool: Spool) -> bool:
    """Whether something waits, or may: where S3 does not say, it may.

    A few objects of which the newest has waited for a day are stuck, and hide no loss.
    """
    try:
        waiting = [one.since_ms for one in islice(spool.waiting(), _STUCK_MAX + 1)]
        return len(waiting) > _STUCK_MAX or max(waiting, default=0) > now_ms() - DAY_MS
    except SpoolUnavailableError:
        return True


def landed_messages(
    session: SparkSession,
    tables: LedgerTables,
    flows: CurrentFlows,
    hours: Collection[int],
    noted: NotedPositions,
    counted_until_ms: int,
) -> Sequence[LedgerHour]:
    by_stream = flows.current().by_stream
    by_message = [one for one, flow in by_stream.items() if flow.identity.by == "message"]
    lake = tables.rows_of(hours, counted_streams=by_message)
    positions, asked_ms = positions_rows(session, noted), now_ms()
    with ExitStack() as kept:

        def judged(rows: LakeRows) -> DataFrame:
            messages = judged_messages(rows, positions, now_ms=asked_ms)
            return kept.enter_context(computed(messages))

        messages = judged(lake)
        missing = messages.where(F.col("end") == MISSING).select("id").distinct()
        missing = kept.enter_context(computed(missing))
        if not missing.isEmpty():
            again = judged(tables.rows_around(lake, missing, hours))
            messages = messages.join(missing, "id", "left_anti").unionByName(again)
        # Devices name any streams: those without a flow count as one, as they do at ingest.
        named = F.when(F.col("stream").isin([*by_stream]), F.col("stream"))
        messages = messages.withColumn("stream", F.coalesce(named, F.lit(NO_FLOW_STREAM)))
        return landed_hours(messages, counted_until_ms=counted_until_ms)


def positions_rows(session: SparkSession, noted: NotedPositions) -> DataFrame:
    """The newest positions, and those that the lake and the archive have caught up with."""
    times = noted.newest, noted.kept, noted.archived
    passed: list[Offsets] = [{} if one is None else one.passed for one in times]
    rows = [
        (*partition, begins, *(one.get(partition, 0) for one in passed))
        for partition, begins in noted.newest.begins.items()
    ]
    named = [dict(zip(POSITIONS.names, row, strict=True)) for row in rows]
    return session.createDataFrame(pa.Table.from_pylist(named, POSITIONS))
