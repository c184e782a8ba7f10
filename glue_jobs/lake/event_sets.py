"""Which of the events made of one message count: those of one revision, by one parser.

The highest revision counts; of its sets, that of the highest version of a parser (PEP 440; what is
no version comes before all others); of equal versions, that of the name which comes last. So it
does not matter in which order sets come to the lake.
"""

from collections import defaultdict
from functools import reduce
from itertools import chain
from operator import and_, or_
from typing import Final

from packaging.version import InvalidVersion, Version
from pyspark.sql import Column, DataFrame, Row, Window
from pyspark.sql import functions as F

from glue_jobs.engine.hours import hour_of, spans_of

SET: Final = ("revision", "parser")
"""What the events of one message share that count together."""


def set_facts() -> tuple[Column, ...]:
    """Aggregates of a batch's rows: sets by stream, hours of arrival by stream, ids by content."""
    return (
        F.collect_set(F.struct("stream", *SET)).alias("sets"),
        F.collect_set(F.struct("stream", hour_of("arrival_ms"))).alias("hours"),
        F.bool_or(~F.col("id").startswith(F.col("raw_id"))).alias("are_named_by_content"),
    )


def arrived_alike(facts: Row) -> Column:
    """The condition for rows of messages that arrived within the same hours.

    A replay keeps a message's arrival: so its older events are found, whatever their days.
    """
    hours = defaultdict[str, set[int]](set)
    for stream, hour_ms in facts.hours:
        hours[stream].add(hour_ms)
    spans = [
        (F.col("stream") == stream) & F.col("arrival_ms").between(first_ms, end_ms - 1)
        for stream, its_hours in sorted(hours.items())
        for first_ms, end_ms in spans_of(its_hours)
    ]
    return reduce(or_, spans)


def of_two_sets(rows: DataFrame, there: DataFrame, facts: Row) -> DataFrame:
    """The messages of a batch, by ``raw_id``, with events of several sets, in it or ``there``."""
    batch = rows.select("raw_id", *SET).distinct()
    others = there.where(_may_be_of_other_sets(facts)).select("raw_id", *SET)
    others = others.join(F.broadcast(batch.select("raw_id")), "raw_id", "left_semi")
    sets = batch.union(others).distinct().groupBy("raw_id").count()
    return sets.where("count > 1").select("raw_id")


def with_whether_it_counts(rows: DataFrame) -> DataFrame:
    """Add ``counts``: whether a row is of the set that counts, of those in ``rows``."""
    parsers = [one.parser for one in rows.select("parser").distinct().collect()]
    ranks = {parser: rank for rank, parser in enumerate(sorted(parsers, key=_order))}
    pairs = F.create_map(*map(F.lit, chain.from_iterable(ranks.items()))) if ranks else F.lit(None)
    place = F.struct("revision", pairs[F.col("parser")].alias("rank"))
    best = F.max(place).over(Window.partitionBy("raw_id"))
    return rows.withColumn("counts", place == best)


def _may_be_of_other_sets(facts: Row) -> Column:
    """The condition for rows that may be of another set than the batch has of their message.

    Where a batch has one set a stream, files of the same are not read: Parquet's dictionaries
    say that they have no other.
    """
    by_stream = defaultdict[str, list[Column]](list)
    for stream, revision, parser in facts.sets:
        is_same = (F.col("revision") == revision) & (F.col("parser") == parser)
        by_stream[stream].append((F.col("stream") == stream) & is_same)
    alone = [~same[0] for _, same in sorted(by_stream.items()) if len(same) == 1]
    return reduce(and_, alone, F.lit(True))  # noqa: FBT003 - Spark's


def _order(parser: str) -> tuple[bool, Version, str]:
    try:
        return True, Version(parser.rpartition("@")[2]), parser
    except InvalidVersion:
        return False, Version("0"), parser
