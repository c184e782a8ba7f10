"""Events that a newer parser made of the same message take the place of the older ones."""

from functools import reduce
from operator import and_
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from fleetlane.events.lake.tables import EVENTS
from glue_jobs.lake.merging import (
    Target,
    append_new,
    commit,
    confirm,
    facts_of,
    in_places,
    one_of_each,
    places_in,
    touched,
    without_known,
)

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
