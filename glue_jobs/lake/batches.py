"""A batch of records into the tables that its query writes."""

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from types import MappingProxyType
from typing import Final

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
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
    REPEATS,
    LakeTable,
)
from fleetlane.events.topics import FLEET_PARSED, FLEET_RECEIVED, canonical_topic
from fleetlane.events.topics import PARKED as PARKED_TOPIC
from glue_jobs.engine.checkpoint_notes import DedupedStreams
from glue_jobs.engine.persisted_rows import persisted
from glue_jobs.engine.session import table_name
from glue_jobs.lake.archive import ArchivedBodies, write_raw
from glue_jobs.lake.commits import Batch, TableLog
from glue_jobs.lake.erasure import without_erased
from glue_jobs.lake.events import merge_events
from glue_jobs.lake.merging import Check, Target, merge, write_days
from glue_jobs.lake.rows import event_rows, parked_rows, parsed_rows, received_rows
from glue_jobs.lake.summaries import UncountedDays, closed_hour_ms, daily_rows, hourly_rows
from glue_jobs.lake.upkeep import LeaseGuard

TABLES_OF: Final[Mapping[LakeTables, tuple[LakeTable, ...]]] = MappingProxyType(
    {
        LakeTables.EVENTS: (EVENTS, REPEATS, PARKED),
        LakeTables.FLEET: (RECEIVED, PARSED, DAILY, HOURLY, LEDGER),
        LakeTables.ARCHIVE: (RAW,),
    }
)

_QUERY_ID: Final = "sql.streaming.queryId"


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
        erased_until_ms: Callable[[], Mapping[str, int]],
        bodies: ArchivedBodies | None = None,
    ) -> None:
        """``erased_until_ms`` reads, before each batch, what of which devices stays away."""
        self._arguments, self._guard, self._deduped = arguments, guard, deduped
        self._bodies = bodies
        self._erased_until_ms = erased_until_ms
        self._token, self._uncounted = 0, UncountedDays()
        self._logs = {table: TableLog(session, table) for table in TABLES_OF[arguments.tables]}

    def write(self, records: DataFrame, number: int) -> None:
        """Write a batch; for ``foreachBatch``.

        Raises ``LeaseLostError`` where another writes these tables by now. Any ``FleetlaneError``
        says that S3 does not answer: what was deduped or erased, or a body, cannot be read.
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
                    target = self._target(RAW, batch, check)
                    write_raw(records, target, self._bodies, self._erased_until_ms())

    def read_again(self) -> None:
        """Forget what the tables' last commits were; others than batches made some."""
        for log in self._logs.values():
            log.read_again()

    def _write_events(self, records: DataFrame, batch: Batch, check: Check) -> None:
        is_parked = F.col("topic") == PARKED_TOPIC
        erased_until_ms = self._erased_until_ms()
        # It comes by ``unique.<stream>`` too, or came: from the beginning on.
        again = F.col("topic").isin([canonical_topic(one) for one in self._deduped.windows_s()])
        events = event_rows(records.where(~is_parked & ~again))
        with persisted(without_erased(events, EVENTS, erased_until_ms)) as events:
            repeats = self._target(REPEATS, batch, check)
            merge_events(events, self._target(EVENTS, batch, check), repeats)
        parked = without_erased(parked_rows(records.where(is_parked)), PARKED, erased_until_ms)
        with persisted(parked):
            merge(parked, self._target(PARKED, batch, check))

    def _write_fleet(self, records: DataFrame, batch: Batch, check: Check) -> None:
        erased_until_ms, level = self._erased_until_ms(), StorageLevel.MEMORY_AND_DISK_DESER
        received = received_rows(records.where(F.col("topic") == FLEET_RECEIVED))
        received = without_erased(received, RECEIVED, erased_until_ms)
        parsed = parsed_rows(records.where(F.col("topic") == FLEET_PARSED))
        parsed = without_erased(parsed, PARSED, erased_until_ms)
        with persisted(received, level), persisted(parsed, level):
            merge(received, self._target(RECEIVED, batch, check))
            merge(parsed, self._target(PARSED, batch, check))
            self._count(received, parsed, batch, check)

    def _count(self, received: DataFrame, parsed: DataFrame, batch: Batch, check: Check) -> None:
        """Write anew what is counted of the days that a batch touches."""
        session, came = received.sparkSession, received.select("day", "received_ms")
        touched = came.unionByName(parsed.select("day"), allowMissingColumns=True)
        last = touched.groupBy("day").agg(F.max("received_ms").alias("latest_ms")).collect()
        days = [row.day for row in last]
        write_days(lambda: daily_rows(*_of_days(session, days)), self._target(DAILY, batch, check))
        closed_ms = closed_hour_ms(max((row.latest_ms or 0 for row in last), default=0))
        due = self._uncounted.due(days, closed_ms=closed_ms)
        if due:  # not at every batch: it reads whole days
            hourly = self._target(HOURLY, batch, check)
            write_days(lambda: hourly_rows(*_of_days(session, due), closed_ms=closed_ms), hourly)

    def _target(self, table: LakeTable, batch: Batch, check: Check) -> Target:
        return Target(table=table, log=self._logs[table], batch=batch, check=check)


def _of_days(session: SparkSession, days: Sequence[date]) -> tuple[DataFrame, DataFrame]:
    """All rows of ``received`` and of ``parsed`` of these days."""
    in_days = F.col("day").isin(list(days))
    received, parsed = (session.table(table_name(session, table)) for table in (RECEIVED, PARSED))
    return received.where(in_days), parsed.where(in_days)
