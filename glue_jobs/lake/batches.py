"""A batch of records into the tables that its query writes.

Events that a newer parser made of the same message take the place of the older ones.
"""

from collections.abc import Mapping, Sequence
from datetime import date
from functools import reduce
from operator import and_
from types import MappingProxyType
from typing import Final

from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from fleetlane.events.job_arguments import LakeArguments, LakeTables
from fleetlane.events.lake.tables import (
    DAILY,
    EVENTS,
    HOURLY,
    LEDGER,
    PARKED,
    PARSED,
    RAW,
    RECEIVED,
    LakeTable,
)
from fleetlane.events.topics import FLEET_PARSED, FLEET_RECEIVED, canonical_topic
from fleetlane.events.topics import PARKED as PARKED_TOPIC
from glue_jobs.engine.checkpoint_notes import DedupedStreams
from glue_jobs.lake.archive import ArchivedBodies, write_raw
from glue_jobs.lake.commits import Batch, TableLog
from glue_jobs.lake.merging import (
    Check,
    Target,
    append_new,
    commit,
    confirm,
    facts_of,
    in_places,
    merge,
    one_of_each,
    places_in,
    touched,
    without_known,
    write_days,
)
from glue_jobs.lake.rows import event_rows, parked_rows, parsed_rows, received_rows
from glue_jobs.lake.summaries import ClosedHours, daily_rows, days_to_count, hourly_rows
from glue_jobs.lake.upkeep import LeaseGuard

TABLES_OF: Final[Mapping[LakeTables, tuple[LakeTable, ...]]] = MappingProxyType(
    {
        LakeTables.EVENTS: (EVENTS, PARKED),
        LakeTables.FLEET: (RECEIVED, PARSED, DAILY, HOURLY, LEDGER),
        LakeTables.ARCHIVE: (RAW,),
    }
)

_QUERY_ID: Final = "sql.streaming.queryId"
_PROPERTY: Final = "spark.sql.iceberg.snapshot-property"
_PLACE: Final = ("stream", "day", "id")
_OLD: Final = f"{EVENTS.full_name}."


def merge_events(rows: DataFrame, target: Target) -> None:
    """Merge events. Where a message has a higher revision, here or in the table, only that stays.

    A replayed message keeps its arrival time, which is how its older events are found.
    """
    if target.log.has(target.batch):
        return
    facts = facts_of(
        rows,
        EVENTS,
        F.min("arrival_ms").alias("first_ms"),
        F.max("arrival_ms").alias("last_ms"),
        F.max("revision").alias("revision"),
        F.collect_set("stream").alias("streams"),
    )
    places = touched(facts)
    if places is None:
        return
    if not target.log.has_revisions(now=facts.revision > 0):
        append_new(rows, target, places=places)
        return
    arrived_alike = F.col("arrival_ms").between(facts.first_ms, facts.last_ms)
    same = rows.sparkSession.table(EVENTS.full_name).where(
        F.col("stream").isin(facts.streams) & arrived_alike
    )
    newest = _newest(rows, same).persist()
    revised = F.broadcast(newest.where("newest > 0"))
    stale = same.join(revised, "raw_id").where("revision < newest").select(*_PLACE).persist()
    current = rows.join(newest, "raw_id").where("revision = newest").drop("newest")
    _replace(current, stale, target, places)
    newest.unpersist()
    stale.unpersist()


def _newest(rows: DataFrame, same: DataFrame) -> DataFrame:
    there = same.where("revision > 0").select("raw_id", "revision")
    revisions = rows.select("raw_id", "revision").union(there)
    return revisions.groupBy("raw_id").agg(F.max("revision").alias("newest"))


def _replace(rows: DataFrame, stale: DataFrame, target: Target, places: Column) -> None:
    there = rows.sparkSession.table(EVENTS.full_name).join(
        F.broadcast(stale), list(_PLACE), "left_anti"
    )
    once = one_of_each(rows, EVENTS.key)
    fresh = without_known(once, target, there=there, places=places)
    stale_in = in_places(places_in(stale.select("stream", "day").distinct().collect()), of=_OLD)
    if stale_in is None:
        commit(fresh, target, places=places)
        return
    added = fresh.select(*EVENTS.column_names).withColumn("is_stale", F.expr("false"))
    removed = stale.withColumn("is_stale", F.expr("true"))
    changes = added.unionByName(removed, allowMissingColumns=True).persist()
    base_id = target.log.current_id()
    target.check()
    _merge_changes(changes, target, stale_in)
    confirm(rows.sparkSession, target, base_id=base_id, places=places)
    changes.unpersist()


def _merge_changes(changes: DataFrame, target: Target, stale_in: Column) -> None:
    """Take out and put in, in one commit. Only the partitions with stale rows are read."""
    session = changes.sparkSession
    names = {f"{_PROPERTY}.{name}": value for name, value in target.batch.properties.items()}
    for name, value in names.items():
        session.conf.set(name, value)
    is_stale_row = reduce(and_, (F.col(f"{_OLD}{name}") == F.col(f"s.{name}") for name in _PLACE))
    try:
        (
            changes.alias("s")
            .mergeInto(EVENTS.full_name, is_stale_row & F.col("s.is_stale") & stale_in)
            .whenMatched()
            .delete()
            .whenNotMatched(~F.col("s.is_stale"))
            .insert({name: F.col(f"s.{name}") for name in EVENTS.column_names})
            .merge()
        )
    finally:
        for name in names:
            session.conf.unset(name)


class LakeBatches:
    """Writes the batches of one query, each once, however often it is given.

    A batch that was written in part goes on with the tables that do not have it yet.
    """

    def __init__(
        self,
        session: SparkSession,
        arguments: LakeArguments,
        guard: LeaseGuard,
        *,
        deduped: DedupedStreams,
        bodies: ArchivedBodies | None = None,
    ) -> None:
        self._arguments, self._guard, self._deduped = arguments, guard, deduped
        self._bodies = bodies
        self._token, self._hours = 0, ClosedHours()
        self._logs = {table: TableLog(session, table) for table in TABLES_OF[arguments.tables]}

    def write(self, records: DataFrame, number: int) -> None:
        """Write a batch; for ``foreachBatch``.

        Raises:
            FilesUnavailableError: It cannot be read which streams are deduped.
            PayloadUnavailableError: S3 does not answer, and bodies are to be archived.
            LeaseLostError: Another writes these tables by now.
        """
        query = records.sparkSession.sparkContext.getLocalProperty(_QUERY_ID)
        assert query is not None, "Spark names the query to what runs in it"
        with self._guard.turn() as check:
            if self._token != self._guard.token:
                self.read_again()
                self._token = self._guard.token
            batch = Batch(query=query, number=number)
            match self._arguments.tables:
                case LakeTables.EVENTS:
                    self._write_events(records, batch, check)
                case LakeTables.FLEET:
                    self._write_fleet(records, batch, check)
                case LakeTables.ARCHIVE:
                    assert self._bodies is not None, "the archive keeps bodies too"
                    write_raw(records, self._target(RAW, batch, check), self._bodies)

    def read_again(self) -> None:
        """Forget what was known of the tables; others than batches of ours wrote them."""
        for log in self._logs.values():
            log.forget()

    def _write_events(self, records: DataFrame, batch: Batch, check: Check) -> None:
        is_parked = F.col("topic") == PARKED_TOPIC
        events = event_rows(records.where(~is_parked & ~self._comes_again())).persist()
        merge_events(events, self._target(EVENTS, batch, check))
        events.unpersist()
        parked = parked_rows(records.where(is_parked)).persist(StorageLevel.DISK_ONLY)
        merge(parked, self._target(PARKED, batch, check))
        parked.unpersist()

    def _comes_again(self) -> Column:
        """Whether a record's event comes by ``unique.<stream>``, or came: from the beginning on."""
        return F.col("topic").isin([canonical_topic(one) for one in self._deduped.windows_s()])

    def _write_fleet(self, records: DataFrame, batch: Batch, check: Check) -> None:
        session = records.sparkSession
        received = received_rows(records.where(F.col("topic") == FLEET_RECEIVED)).persist()
        merge(received, self._target(RECEIVED, batch, check))
        parsed = parsed_rows(records.where(F.col("topic") == FLEET_PARSED)).persist()
        merge(parsed, self._target(PARSED, batch, check))
        came = received.select("day", "received_ms")
        touched = came.unionByName(parsed.select("day"), allowMissingColumns=True)
        last = touched.groupBy("day").agg(F.max("received_ms").alias("latest_ms")).collect()
        days = [row.day for row in last]
        write_days(lambda: daily_rows(*_of_days(session, days)), self._target(DAILY, batch, check))
        latest_ms = max((row.latest_ms or 0 for row in last), default=0)
        self._count_hours(session, days, latest_ms, self._target(HOURLY, batch, check))
        received.unpersist()
        parsed.unpersist()

    def _count_hours(
        self, session: SparkSession, touched: Sequence[date], latest_ms: int, target: Target
    ) -> None:
        """Count again once another hour is over: not every batch, as it reads whole days."""
        closed_ms = self._hours.next_after(latest_ms)
        if closed_ms is None:
            return
        days = days_to_count(touched, closed_ms=closed_ms)
        write_days(lambda: hourly_rows(*_of_days(session, days), closed_ms=closed_ms), target)
        self._hours.counted(closed_ms)

    def _target(self, table: LakeTable, batch: Batch, check: Check) -> Target:
        return Target(table=table, log=self._logs[table], batch=batch, check=check)


def _of_days(session: SparkSession, days: Sequence[date]) -> tuple[DataFrame, DataFrame]:
    """All rows of ``received`` and of ``parsed`` of these days."""
    in_days = F.col("day").isin(list(days))
    received, parsed = (session.table(table.full_name) for table in (RECEIVED, PARSED))
    return received.where(in_days), parsed.where(in_days)
