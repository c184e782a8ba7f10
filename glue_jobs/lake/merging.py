"""One row a key, whatever is repeated: new rows are looked up, then appended in one commit."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from functools import reduce
from operator import or_
from typing import Final

from pyspark.sql import Column, DataFrame, Row, SparkSession, Window
from pyspark.sql import functions as F

from fleetlane.events.lake.tables import LakeTable
from fleetlane.events.times import HOUR_MS
from glue_jobs.lake.commits import Batch, TableLog, until_unopposed
from glue_jobs.lake.rows import DAY_CLOCK

NEAR_MS: Final = HOUR_MS
"""A repeat so much earlier or later is found across midnight too."""

_PLACES: Final = "places"
type Check = Callable[[], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A table for one batch to write. ``check`` raises where another process may write it too."""

    table: LakeTable
    log: TableLog
    batch: Batch
    check: Check


def merge(rows: DataFrame, target: Target) -> None:
    """Append the rows whose keys are not in the days that they touch; nothing if it was done.

    Needs the table's columns and ``day_clock_ms``; ``rows`` should be persisted.
    """
    if target.log.has(target.batch):
        return
    places = touched(facts_of(rows, target.table))
    if places is None:
        return
    append_new(one_of_each(rows, target.table.key), target, near=places, partitions=places)


def append_new(rows: DataFrame, target: Target, *, near: Column, partitions: Column) -> None:
    """Append rows but for those whose keys are in the table already, ``near`` them.

    The batch's keys go to the table's rows, not the other way: no row of the table is shuffled.
    Where another wrote meanwhile, repeats are dropped in these whole ``partitions``.
    """
    there = rows.sparkSession.table(target.log.name).where(near)
    known = F.broadcast(known_rows(rows, target.table, there=there))
    if not commit(rows.join(known, list(target.table.key), "left_anti"), target):
        drop_repeats(rows.sparkSession, target.table, within=partitions)
        target.log.read_again()


def one_of_each(rows: DataFrame, key: Sequence[str]) -> DataFrame:
    """Keep one row a key: that of the highest revision, where rows have one.

    By a window: an aggregate would take apart what is nested.
    """
    first = F.col("revision").desc() if "revision" in rows.columns else F.col(key[0])
    alike = Window.partitionBy(*key).orderBy(first)
    return rows.withColumn("place", F.row_number().over(alike)).where("place = 1").drop("place")


def known_rows(rows: DataFrame, table: LakeTable, *others: str, there: DataFrame) -> DataFrame:
    """The keys of a batch that are ``there``, with ``others`` of the columns there."""
    key = list(table.key)
    return there.select(*key, *others).join(F.broadcast(rows.select(*key)), key, "left_semi")


def commit(rows: DataFrame, target: Target) -> bool:
    """Append rows, marked with the batch, even if there are none.

    Returns whether nobody wrote between the look-up and the commit: one that was paused for long
    may have lost the lease to another. Then there may be rows twice.
    """
    writer = rows.select(*target.table.column_names).writeTo(target.log.name)
    for name, value in target.batch.properties.items():
        writer = writer.option(f"snapshot-property.{name}", value)
    base_id = target.log.current_id()
    target.check()
    writer.append()
    return target.log.is_right_after(target.batch, base_id)


def write_days(rows: Callable[[], DataFrame], log: TableLog, check: Check) -> None:
    """Replace the days of ``rows``, which is called again where another wrote them meanwhile."""
    log.read_again()
    _rewrite(lambda _: rows(), log, check)
    log.read_again()


def drop_repeats(
    session: SparkSession, table: LakeTable, *, within: Column, check: Check = lambda: None
) -> None:
    """Rewrite whole partitions with one row a key: that of the highest revision, if any.

    Where another writes them meanwhile, it is done again with what is there then. So it takes
    nothing away from anybody, and needs no lease.
    """
    log = TableLog(session, table)

    def once(snapshot_id: int | None) -> DataFrame:
        there = session.sql(f"SELECT * FROM {log.name} VERSION AS OF {snapshot_id}")  # noqa: S608 - ours
        return one_of_each(there.where(within), _within_a_partition(table))

    if log.current_id() is not None:
        _rewrite(once, log, check)


def _rewrite(rows: Callable[[int | None], DataFrame], log: TableLog, check: Check) -> None:
    """Replace partitions by ``rows`` of a snapshot, or ``None``; again where they changed since."""

    def attempt() -> bool:
        base_id = log.current_id()
        writer = rows(base_id).select(*log.table.column_names).writeTo(log.name)
        writer = writer.option("isolation-level", "serializable")
        if base_id is not None:
            writer = writer.option("validate-from-snapshot-id", str(base_id))
        check()
        writer.overwritePartitions()
        return True

    until_unopposed(attempt, log=log)


def places_with_repeats(rows: DataFrame, table: LakeTable) -> list[Row]:
    """The partitions that have a key twice."""
    counted = rows.groupBy(*_within_a_partition(table)).count().where("count > 1")
    return counted.select(*table.partitioned_by).distinct().collect()


def _within_a_partition(table: LakeTable) -> Sequence[str]:
    """What a row is known by within its partition; a key may be the same on distant days."""
    own = [name for name in table.key if name not in table.partitioned_by]
    return [*table.partitioned_by, *own]


def facts_of(rows: DataFrame, table: LakeTable, *others: Column) -> Row:
    """Find, in one Spark job, the partitions that may have a batch's rows already, and ``others``.

    Needs the table's columns and ``day_clock_ms``. ``touched`` reads the result.
    """
    near = [F.timestamp_millis(F.col(DAY_CLOCK) + off).cast("date") for off in (-NEAR_MS, NEAR_MS)]
    days = F.array_compact(F.array_distinct(F.array("day", *near)))
    stream = F.col("stream") if "stream" in table.partitioned_by else F.lit(None).cast("string")
    places = F.collect_set(F.struct(stream.alias("stream"), days.alias("days")))
    [facts] = rows.agg(places.alias(_PLACES), *others).collect()
    return facts


def touched(facts: Row) -> Column | None:
    """The condition for partitions that may have the batch's keys; ``None`` if it has no rows."""
    return in_places(Row(stream=one.stream, day=day) for one in facts[_PLACES] for day in one.days)


def in_places(partitions: Iterable[Row], *, of: str = "") -> Column | None:
    """The condition for rows of these partitions; ``None`` where there are none.

    They have ``day``, and ``stream`` or not. ``of`` is the table's name with a dot, where another's
    columns are called the same.
    """
    days = defaultdict[str | None, set[date]](set)
    for one in partitions:
        days[one.asDict().get("stream")].add(one.day)
    parts = []
    for stream, its_days in sorted(days.items(), key=str):
        part = F.col(f"{of}day").isin(sorted(its_days))
        parts.append(part if stream is None else (F.col(f"{of}stream") == stream) & part)
    return reduce(or_, parts) if parts else None
