"""A batch of records into the tables that its query writes."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from clients.flows.store import CurrentFlows
from fleetlane.events.job_arguments import LakeTables
from fleetlane.events.lake import tables
from fleetlane.events.topics import FLEET_PARSED, FLEET_RECEIVED, PARKED, canonical_topic
from glue_jobs.engine.checkpoint_notes import DedupedStreams
from glue_jobs.engine.persisted_rows import persisted
from glue_jobs.lake.archive import ArchivedBodies, write_raw
from glue_jobs.lake.commits import Batch, TableLog
from glue_jobs.lake.day_counts import DayCounts
from glue_jobs.lake.events import merge_events
from glue_jobs.lake.merging import Check, Target, merge
from glue_jobs.lake.rows import event_rows, parked_rows, parsed_rows, received_rows, without_erased
from glue_jobs.lake.upkeep import LeaseGuard

TABLES_OF: Final[Mapping[LakeTables, tuple[tables.LakeTable, ...]]] = {
    LakeTables.EVENTS: (tables.EVENTS, tables.REPEATS, tables.PARKED),
    LakeTables.FLEET: (
        *(tables.RECEIVED, tables.PARSED, tables.DAILY, tables.HOURLY),
        *(tables.OBJECTIVES, tables.LEDGER),
    ),
    LakeTables.ARCHIVE: (tables.RAW,),
}

_QUERY_ID: Final = "sql.streaming.queryId"


@dataclass(slots=True, kw_only=True)
class LakeBatches:
    """Writes the batches of one query, each once, however often it is given.

    A batch that was written in part goes on with the tables that do not have it yet.
    ``erased_until_ms`` reads, before each batch, what of which devices stays away. ``flows`` say
    which objectives there are; the archive alone needs ``bodies``.
    """

    session: SparkSession
    which: LakeTables
    guard: LeaseGuard
    deduped: DedupedStreams
    erased_until_ms: Callable[[], Mapping[str, int]]
    flows: CurrentFlows
    bodies: ArchivedBodies | None = None
    _logs: Mapping[tables.LakeTable, TableLog] = field(init=False)
    _counts: DayCounts = field(init=False)
    _token: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self._logs = {table: TableLog(self.session, table) for table in TABLES_OF[self.which]}
        self._counts = DayCounts(self.session, self._logs, self.flows)

    def write(self, records: DataFrame, number: int) -> None:
        """Write a batch; for ``foreachBatch``.

        Raises ``LeaseLostError`` where another writes these tables by now. Any ``FleetlaneError``
        says that S3 does not answer: what was deduped or erased, or a body, cannot be read.
        """
        query = records.sparkSession.sparkContext.getLocalProperty(_QUERY_ID)
        assert query is not None, "Spark names the query to what runs in it"
        with self._turn() as check:
            batch = Batch(query=query, number=number)
            match self.which:
                case LakeTables.EVENTS:
                    self._write_events(records, batch, check)
                case LakeTables.FLEET:
                    self._write_fleet(records, batch, check)
                case LakeTables.ARCHIVE:
                    assert self.bodies is not None, "the archive keeps bodies too"
                    target = self._target(tables.RAW, batch, check)
                    write_raw(records, target, self.bodies, self.erased_until_ms())

    def count(self) -> float:
        """Count the days that batches touched; gives for how many seconds, once it had its turn.

        Where it fails the next batch does it, and fails likewise: the lake's lag then says so.
        """
        with self._turn() as check:
            began_s = time.monotonic()
            self._counts.write(check)
            took_s = time.monotonic() - began_s
            self._counts.judge(check)  # once an hour: no part of what it rests for
            return took_s

    @contextmanager
    def _turn(self) -> Iterator[Check]:
        with self.guard.turn() as check:
            if self._token != self.guard.token:
                self.read_again()
                if tables.DAILY in self._logs:
                    self._counts.add_of_others()
                self._token = self.guard.token
            yield check

    def read_again(self) -> None:
        """Forget what the tables' last commits were; others than batches made some."""
        for log in self._logs.values():
            log.read_again()

    def _write_events(self, records: DataFrame, batch: Batch, check: Check) -> None:
        is_parked = F.col("topic") == PARKED
        erased_until_ms = self.erased_until_ms()
        # It comes by ``unique.<stream>`` too, or came: from the beginning on.
        again = F.col("topic").isin([*map(canonical_topic, self.deduped.windows_s())])
        # Those that several messages may have: of which of them it comes there, nobody knows.
        event = F.col("value").cast("string")
        id_, raw_id = (F.get_json_object(event, f"$.{name}") for name in ("id", "rawid"))
        events = event_rows(records.where(~is_parked & (~again | ~id_.startswith(raw_id))))
        with persisted(without_erased(events, tables.EVENTS, erased_until_ms)) as events:
            repeats = self._target(tables.REPEATS, batch, check)
            merge_events(events, self._target(tables.EVENTS, batch, check), repeats)
        parked = parked_rows(records.where(is_parked))
        with persisted(without_erased(parked, tables.PARKED, erased_until_ms)) as parked:
            merge(parked, self._target(tables.PARKED, batch, check))

    def _write_fleet(self, records: DataFrame, batch: Batch, check: Check) -> None:
        erased_until_ms, level = self.erased_until_ms(), StorageLevel.MEMORY_AND_DISK_DESER
        received = received_rows(records.where(F.col("topic") == FLEET_RECEIVED))
        received = without_erased(received, tables.RECEIVED, erased_until_ms)
        parsed = parsed_rows(records.where(F.col("topic") == FLEET_PARSED))
        parsed = without_erased(parsed, tables.PARSED, erased_until_ms)
        with persisted(received, level), persisted(parsed, level):
            merge(received, self._target(tables.RECEIVED, batch, check))
            merge(parsed, self._target(tables.PARSED, batch, check))
            touched = received.select("day").union(parsed.select("day")).distinct().collect()
        self._counts.add(row.day for row in touched)
        if self._counts.has_failed:
            self._counts.write(check)

    def _target(self, table: tables.LakeTable, batch: Batch, check: Check) -> Target:
        return Target(table=table, log=self._logs[table], batch=batch, check=check)
