"""The lake's tables as the standing ledger reads them, and the one that it writes."""

from collections.abc import Collection, Iterable, Mapping
from copy import replace
from datetime import date
from functools import reduce
from operator import or_
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema

from clients.accepted_counts import AcceptedMinute
from fleetlane.events.lake import tables
from fleetlane.events.lanes import Lane
from fleetlane.events.times import DAY_MS, MILLIS_MAX, MILLIS_MIN, day_of
from glue_jobs.engine.hours import hour_of, spans_of
from glue_jobs.engine.session import iceberg_table, table_name
from glue_jobs.standing_ledger.messages import LakeRows

_READ: Final = (tables.RECEIVED, tables.PARSED, tables.PARKED, tables.EVENTS, tables.REPEATS)
_ACCEPTED: Final = ("stream", "lane", "hour_ms", "accepted")
_MESSAGE: Final = ("id", "stream", "lane", "attempt", "arrival_ms")


class LedgerTables:
    """Reads and writes by Spark. ``has_archive``: there is, or will be, a table ``raw``."""

    def __init__(self, session: SparkSession, *, has_archive: bool) -> None:
        self._session, self._has_archive = session, has_archive

    def snapshots(self) -> Mapping[str, int | None] | None:
        """The snapshot that each table is at; ``None`` until all are made."""
        needed = (*_READ, tables.LEDGER, *((tables.RAW,) if self._has_archive else ()))
        names = [table_name(self._session, one) for one in needed]
        if not all(map(self._session.catalog.tableExists, names)):
            return None
        return {one.name: self._snapshot_id(one) for one in needed if one is not tables.LEDGER}

    def hours(self) -> Mapping[int, bool]:
        """The hours that the ledger has, and whether they are settled."""
        hours = self._table(tables.LEDGER).groupBy("hour_ms")
        rows = hours.agg(F.bool_and("is_settled").alias("is_settled"))
        return {row.hour_ms: row.is_settled for row in rows.collect()}

    def accepted(self, hours: Collection[int]) -> Mapping[AcceptedMinute, int]:
        """What ingest counted of some hours, as far as the ledger has it; as of their beginning."""
        if not hours:
            return {}
        wanted = self._table(tables.LEDGER).where(F.col("hour_ms").isin([*hours]))
        rows = wanted.dropna(subset="accepted")
        return {
            AcceptedMinute(stream=stream, lane=Lane(lane), minute_ms=hour_ms): accepted
            for stream, lane, hour_ms, accepted in rows.select(*_ACCEPTED).collect()
        }

    def touched_hours(self, *, since_ms: int) -> set[int]:
        """The hours of arrival of what landed or was attempted since a time."""
        parsed = self._table(tables.PARSED).where(F.col("parsed_ms") >= since_ms)
        hours = parsed.select(hour_of("received_ms"))
        if self._has_archive:
            raw = self._table(tables.RAW).where(F.col("kafka_ms") >= since_ms)
            hours = hours.union(raw.select(hour_of("arrival_ms")))
        return {row.hour_ms for row in hours.distinct().dropna().collect()}

    def rows_of(self, hours: Collection[int], *, counted_streams: Collection[str]) -> LakeRows:
        raw = self._arrived(tables.RAW, "arrival_ms", hours) if self._has_archive else None
        return LakeRows(
            raw=None if raw is None else raw.dropna(subset=_MESSAGE),
            received=self._arrived(tables.RECEIVED, "received_ms", hours),
            parsed=self._arrived(tables.PARSED, "received_ms", hours),
            parked=self._table(tables.PARKED).where(F.col("day") >= day_of(min(hours))),
            events=self._events().where(_is_within("arrival_ms", hours)),
            counted_streams=counted_streams,
        )

    def rows_around(self, lake: LakeRows, ids: DataFrame, hours: Collection[int]) -> LakeRows:
        """The rows of some of these messages, and of earlier landings of the same ones.

        A repeat adds no row: its attempt is in another hour, its events are in days of their own.
        """

        def of_these(rows: DataFrame, name: str = "id") -> DataFrame:
            return rows.join(ids.withColumnRenamed("id", name), name, "left_semi")

        days = sorted({day_of(one - ago) for one in hours for ago in (0, DAY_MS)})
        is_near = F.col("day").isin(days)
        parsed = of_these(self._table(tables.PARSED).where(is_near))
        [times] = parsed.agg(F.min("first_event_ms"), F.max("last_event_ms")).collect()
        if None not in tuple(times):  # of a Row, `in` asks for a name
            is_near |= F.col("day").between(*map(nearest_day, times))
        return replace(
            lake,
            raw=None if lake.raw is None else of_these(lake.raw),
            received=of_these(lake.received),
            parsed=parsed,
            parked=self._table(tables.PARKED).where(F.col("day") >= days[0]),
            events=of_these(self._events().where(is_near), "raw_id"),
        )

    def write(self, records: Iterable[Mapping[str, Any]]) -> None:
        """Replace the hours that these rows are of."""
        schema = to_arrow_schema(self._table(tables.LEDGER).schema)
        rows = self._session.createDataFrame(pa.Table.from_pylist(list(records), schema))
        rows.writeTo(table_name(self._session, tables.LEDGER)).overwritePartitions()

    def found(self, *, since_ms: int) -> tuple[int, int]:
        """How many messages were missing, and not landed, in the hours checked since a time."""
        rows = self._table(tables.LEDGER).where(F.col("checked_ms") >= since_ms)
        [found] = rows.agg(F.sum("missing"), F.sum("not_landed")).collect()
        return found[0] or 0, found[1] or 0

    def _events(self) -> DataFrame:
        """With those that another message gave before: they are this one's, too."""
        return self._table(tables.EVENTS).unionByName(self._table(tables.REPEATS))

    def _arrived(self, table: tables.LakeTable, at: str, hours: Collection[int]) -> DataFrame:
        days = sorted(set(map(day_of, hours)))
        return self._table(table).where(F.col("day").isin(days) & _is_within(at, hours))

    def _table(self, table: tables.LakeTable) -> DataFrame:
        """Its rows, without those that were made up."""
        rows = self._session.table(table_name(self._session, table))
        is_marked = "source_topic" in table.column_names
        return rows.where(F.col("source_topic") != tables.MADE_UP) if is_marked else rows

    def _snapshot_id(self, table: tables.LakeTable) -> int | None:
        snapshot = iceberg_table(self._session, table).currentSnapshot()
        return None if snapshot is None else int(snapshot.snapshotId())


def nearest_day(millis: int) -> date:
    """The day of a time, or the first or last that there is: a parser may have forged the time."""
    return day_of(max(MILLIS_MIN, min(millis, MILLIS_MAX)))


def _is_within(at: str, hours: Collection[int]) -> Any:
    """Whether a time is in one of some hours; by their spans first, which exclude whole files."""
    spans = (F.col(at).between(first_ms, end_ms - 1) for first_ms, end_ms in spans_of(hours))
    return reduce(or_, spans) & hour_of(at).isin(sorted(hours))
