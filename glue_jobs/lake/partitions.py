"""The partitions that rows fall into, and may have fallen into when they came before."""

from collections import defaultdict
from collections.abc import Iterable
from datetime import date
from functools import reduce
from operator import or_
from typing import Final

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F

from fleetlane.events.lake.tables import LakeTable
from fleetlane.events.times import HOUR_MS
from glue_jobs.lake.rows import DAY_CLOCK

NEAR_MS: Final = HOUR_MS
"""A repeat so much earlier or later is found across midnight too."""

_PLACES: Final = "places"

type Place = tuple[str | None, date]
"""A partition by its stream, where a table is partitioned by streams, and its day."""


def facts_of(rows: DataFrame, table: LakeTable, *others: Column) -> Row:
    """Find, in one Spark job, the partitions that may have a batch's rows already, and ``others``.

    Needs the table's columns and ``day_clock_ms``. ``touched`` reads the result.
    """
    near = [
        F.timestamp_millis(F.col(DAY_CLOCK) + away).cast("date") for away in (-NEAR_MS, NEAR_MS)
    ]
    days = F.array_compact(F.array_distinct(F.array("day", *near)))
    stream = F.col("stream") if "stream" in table.partitioned_by else F.lit(None).cast("string")
    places = F.collect_set(F.struct(stream.alias("stream"), days.alias("days")))
    facts = rows.agg(places.alias(_PLACES), *others).first()
    assert facts is not None, "an aggregate has one row"
    return facts


def touched(facts: Row) -> Column | None:
    """The condition for the partitions that may have rows with the batch's keys already.

    ``None`` for a batch without rows.
    """
    return in_places((place.stream, day) for place in facts[_PLACES] for day in place.days)


def places_in(partitions: Iterable[Row]) -> list[Place]:
    """Rows with ``day``, and ``stream`` or not, as places."""
    fields = [partition.asDict() for partition in partitions]
    return [(one.get("stream"), one["day"]) for one in fields]


def in_places(places: Iterable[Place], *, of: str = "") -> Column | None:
    """The condition for rows of these partitions; ``None`` where there are none.

    ``of`` is the table's name with a dot, where another's columns are called the same.
    """
    days = defaultdict(set)
    for stream, day in places:
        days[stream].add(day)
    parts = []
    for stream, its_days in sorted(days.items(), key=str):
        part = F.col(f"{of}day").isin(sorted(its_days))
        parts.append(part if stream is None else (F.col(f"{of}stream") == stream) & part)
    return reduce(or_, parts) if parts else None
