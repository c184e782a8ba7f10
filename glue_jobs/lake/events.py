"""Canonical events into their table: one row an id, of each message's sets the one that counts.

Where two messages have the same event (ids by fields or by content), the row is that of the first
to arrive; the other's waits in ``repeats``, and takes its place once a revision replaces the first.
So the rows do not depend on the order in which messages come.
"""

from contextlib import ExitStack
from dataclasses import replace
from functools import reduce
from operator import and_
from typing import Final

from pyspark.sql import Column, DataFrame, Row, SparkSession, Window
from pyspark.sql import functions as F

from fleetlane.events.lake.tables import EVENTS, REPEATS
from glue_jobs.engine.persisted_rows import computed, persisted
from glue_jobs.engine.session import table_name
from glue_jobs.lake import merging
from glue_jobs.lake.commits import until_unopposed
from glue_jobs.lake.event_sets import arrived_alike, of_two_sets, set_facts, with_whether_it_counts
from glue_jobs.lake.merging import Target

_PROPERTY: Final = "spark.sql.iceberg.snapshot-property"
_ROW: Final = ("stream", "day", "id", "raw_id", "revision", "parser", "arrival_ms")
"""What tells a row apart from all that must not be removed with it."""

_KEY: Final = list(EVENTS.key)
_FROM: Final = "came_from"
_BATCH: Final = "batch"
_ORDER: Final = (EVENTS.name, REPEATS.name, _BATCH)
"""Of the same event of one message, that which is in the table stays."""

_IS_REMOVED: Final = "is_removed"


def merge_events(rows: DataFrame, target: Target, repeats: Target) -> None:
    """Merge events, once each; nothing if it was done.

    Needs the columns of ``event_rows``; ``rows`` should be persisted.
    """
    if target.log.has(target.batch):
        return
    facts = merging.facts_of(rows, EVENTS, *set_facts())
    places = merging.touched(facts)
    if places is None:
        return
    is_alone = True

    def attempt() -> bool:
        nonlocal is_alone
        if not target.log.has(target.batch):
            is_alone = _written(rows, facts, target, repeats, places=places)
        return True

    until_unopposed(attempt, log=target.log)
    if not is_alone:
        _mend(rows, target, repeats, places=places)


def _written(
    rows: DataFrame, facts: Row, target: Target, repeats: Target, *, places: Column
) -> bool:
    """Append what is new; of the few messages that are contested, settle what counts."""
    there = rows.sparkSession.table(target.log.name).where(places)
    found = merging.known_rows(rows, EVENTS, "raw_id", there=there)
    with computed(found) as known, computed(_contested(rows, known, facts, places)) as contested:
        new = rows.join(F.broadcast(known), _KEY, "left_anti")
        if contested.isEmpty():
            return merging.commit(merging.one_of_each(new, _KEY), target)
        raw_ids = F.broadcast(contested)
        new = merging.one_of_each(new.join(raw_ids, "raw_id", "left_anti"), _KEY)
        return _settled(rows.join(raw_ids, "raw_id", "left_semi"), target, repeats, besides=new)


def _contested(rows: DataFrame, known: DataFrame, facts: Row, places: Column) -> DataFrame:
    """The batch's messages that have events of two sets, or events that another has as well.

    ``known`` are the batch's events that are in the table.
    """
    session, around = rows.sparkSession, places | arrived_alike(facts)
    if not facts.are_named_by_content:  # then no two messages have the same event
        return of_two_sets(rows, session.table(table_name(session, EVENTS)).where(around), facts)
    claims = known.union(rows.select(*_KEY, "raw_id"))
    counted = claims.groupBy(*_KEY).agg(F.count_distinct("raw_id").alias("messages"))
    shared = rows.join(F.broadcast(counted.where("messages > 1")), _KEY, "left_semi")
    of_sets = of_two_sets(rows, _rows_there(session, around), facts)
    return of_sets.union(shared.select("raw_id")).distinct()


def _mend(rows: DataFrame, target: Target, repeats: Target, *, places: Column) -> None:
    """Another wrote between the look-up and the commit: do it again with what is there by now.

    Only rows are deleted that would have to be whatever another writes, and partitions are
    rewritten only as they were read: so it needs no lease, which by now is the other's.
    """
    ours, its_repeats = (replace(one, check=lambda: None) for one in (target, repeats))
    until_unopposed(lambda: _settled(rows, ours, its_repeats, is_again=True), log=target.log)
    merging.drop_repeats(rows.sparkSession, EVENTS, within=places)
    target.log.read_again()


def _settled(
    rows: DataFrame,
    target: Target,
    repeats: Target,
    *,
    besides: DataFrame | None = None,
    is_again: bool = False,
) -> bool:
    """Bring both tables to what they must be with ``rows``, and append what there is ``besides``.

    Returns whether nobody else wrote meanwhile. ``repeats`` is written first: a batch that is
    repeated from there on finds what it needs.
    """
    facts = merging.facts_of(rows, EVENTS, *set_facts())
    places = merging.touched(facts)
    assert places is not None, "there are rows"
    around = places | arrived_alike(facts)
    raw_ids = F.broadcast(rows.select("raw_id").distinct())
    there = _rows_there(rows.sparkSession, around).join(raw_ids, "raw_id", "left_semi")
    of_batch = rows.select(*EVENTS.column_names, F.lit(_BATCH).alias(_FROM))
    with ExitStack() as kept:
        of_messages = kept.enter_context(computed(of_batch.unionByName(there)))
        of_messages = kept.enter_context(computed(with_whether_it_counts(of_messages)))
        claims = kept.enter_context(computed(_claims(of_messages, around)))
        wins, came_from = F.col("place") == 1, F.col(_FROM)
        gone = of_messages.where(~F.col("counts"))
        if is_again or not repeats.log.has(repeats.batch):
            added = claims.where(~wins & (came_from != REPEATS.name))
            _changed(repeats, added, gone.where(came_from == REPEATS.name))
        lost = claims.where(~wins & (came_from == EVENTS.name)).select(*_ROW)
        removed = gone.where(came_from == EVENTS.name).select(*_ROW).union(lost)
        added = claims.where(wins & (came_from != EVENTS.name)).select(*EVENTS.column_names)
        if besides is not None:
            added = added.union(besides.select(*EVENTS.column_names))
        return _changed(target, added, removed, is_always_marked=not is_again)


def _claims(of_messages: DataFrame, around: Column) -> DataFrame:
    """Of each event concerned a row a message; ``place`` is 1 for the first of them to arrive."""
    keys = F.broadcast(of_messages.select(*_KEY).distinct())
    gone = F.broadcast(of_messages.where(~F.col("counts")).select(*_ROW, _FROM))
    days = F.explode(F.array(*(F.date_add("day", away) for away in (-1, 0, 1))))
    found = of_messages.select("stream", days.alias("day")).distinct().collect()
    around_them = merging.in_places(found)
    assert around_them is not None, "a batch has rows"
    there = (
        _rows_there(of_messages.sparkSession, around | around_them)
        .join(keys, _KEY, "left_semi")
        .join(gone, [*_ROW, _FROM], "left_anti")
    )
    new = of_messages.where(F.col("counts") & (F.col(_FROM) == _BATCH)).drop("counts")
    order = F.array_position(F.array(*map(F.lit, _ORDER)), F.col(_FROM))
    of_message = Window.partitionBy(*_KEY, "raw_id").orderBy(order, "day")
    first = Window.partitionBy(*_KEY).orderBy("arrival_ms", "raw_id")
    one_each = there.unionByName(new).withColumn("nth", F.row_number().over(of_message))
    return one_each.where("nth = 1").withColumn("place", F.row_number().over(first))


def _rows_there(session: SparkSession, within: Column) -> DataFrame:
    events, repeats = (
        session.table(table_name(session, table))
        .where(within)
        .select(*EVENTS.column_names, F.lit(table.name).alias(_FROM))
        for table in (EVENTS, REPEATS)
    )
    return events.unionByName(repeats)


def _changed(
    target: Target, added: DataFrame, removed: DataFrame, *, is_always_marked: bool = False
) -> bool:
    """Put rows in and take rows out, in one commit; returns whether nobody else wrote meanwhile.

    Without any there is a commit only if it ``is_always_marked``.
    """
    days = removed.select("stream", "day").distinct().collect()
    removed_in = merging.in_places(days, of=f"{target.log.name}.")
    if removed_in is None:
        if added.isEmpty() and not is_always_marked:
            return True
        return merging.commit(added, target)
    taken = removed.select(*_ROW).distinct().withColumn(_IS_REMOVED, F.expr("true"))
    put = added.select(*EVENTS.column_names).withColumn(_IS_REMOVED, F.expr("false"))
    with persisted(put.unionByName(taken, allowMissingColumns=True)) as changes:
        base_id = target.log.current_id()
        target.check()
        _merge_changes(changes, target, removed_in)
    return target.log.is_right_after(target.batch, base_id)


def _merge_changes(changes: DataFrame, target: Target, removed_in: Column) -> None:
    """Only the partitions with rows to remove are read. Iceberg's own isolation is serializable."""
    session, name = changes.sparkSession, target.log.name
    marks = {f"{_PROPERTY}.{key}": value for key, value in target.batch.properties.items()}
    for mark, value in marks.items():
        session.conf.set(mark, value)
    is_the_row = reduce(and_, (F.col(f"{name}.{one}") == F.col(f"s.{one}") for one in _ROW))
    try:
        (
            changes.alias("s")
            .mergeInto(name, is_the_row & F.col(f"s.{_IS_REMOVED}") & removed_in)
            .whenMatched()
            .delete()
            .whenNotMatched(~F.col(f"s.{_IS_REMOVED}"))
            .insert({one: F.col(f"s.{one}") for one in EVENTS.column_names})
            .merge()
        )
    finally:
        for mark in marks:
            session.conf.unset(mark)
