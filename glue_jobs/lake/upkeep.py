"""Compaction: few large files, one row a key. Expiry: a past that does not grow for ever."""

from collections.abc import Iterable, Sequence
from typing import Final

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from fleetlane.events.lake.tables import CATALOG, LakeTable
from fleetlane.events.names import checked_device_id
from fleetlane.events.times import DAY_MS, rfc3339
from glue_jobs.lake.commits import SNAPSHOTS_KEPT
from glue_jobs.lake.merging import drop_repeats, places_with_repeats
from glue_jobs.lake.partitions import in_places, places_in

SNAPSHOT_DAYS: Final = 5
"""How long a reader may hold on to what a table was. Nothing of a batch's mark hangs on it."""

_FILES_TO_REWRITE_MIN: Final = 4


def compacted(session: SparkSession, tables: Iterable[LakeTable]) -> dict[str, str]:
    """Drop repeats, then join small files; returns what was done, by table."""
    done = {}
    for table in tables:
        repeats = _drop_repeats(session, table)
        [files] = _call(
            session,
            f"rewrite_data_files(table => '{table.identifier}',"
            f" options => map('min-input-files', '{_FILES_TO_REWRITE_MIN}'))",
        )
        _call(session, f"rewrite_manifests(table => '{table.identifier}')")
        done[table.name] = (
            f"{files['rewritten_data_files_count']} files became {files['added_data_files_count']},"
            f" repeats dropped in {repeats} partitions"
        )
    return done


def expired(session: SparkSession, tables: Iterable[LakeTable], *, now_ms: int) -> dict[str, str]:
    """Delete snapshots over ``SNAPSHOT_DAYS`` old, and the files that they alone need."""
    before = rfc3339(now_ms - SNAPSHOT_DAYS * DAY_MS)
    done = {}
    for table in tables:
        [files] = _call(
            session,
            f"expire_snapshots(table => '{table.identifier}', older_than => TIMESTAMP '{before}',"
            f" retain_last => {SNAPSHOTS_KEPT})",
        )
        done[table.name] = f"{files['deleted_data_files_count']} data files deleted"
    return done


def _drop_repeats(session: SparkSession, table: LakeTable) -> int:
    """Look where a partition has more than one file: what a compaction left is as it should be."""
    grown = session.table(f"{table.full_name}.partitions").where("file_count > 1")
    in_grown = in_places(places_in(grown.select("partition.*").collect()))
    if in_grown is None:
        return 0
    places = places_with_repeats(session.table(table.full_name).where(in_grown), table)
    in_repeated = in_places(places)
    if in_repeated is not None:
        drop_repeats(session.table(table.full_name).where(in_repeated), table)
    return len(places)


def _call(session: SparkSession, procedure: str) -> Sequence[dict[str, object]]:
    return [row.asDict() for row in session.sql(f"CALL {CATALOG}.system.{procedure}").collect()]


def erased(session: SparkSession, tables: Iterable[LakeTable], device_id: str) -> dict[str, str]:
    """Delete a device's rows; returns how many, by table. Old snapshots still have them.

    A table that names no devices is left as it is.

    Raises:
        BadNameError: It is no device's id.
    """
    checked_device_id(device_id)
    done = {}
    for table in tables:
        if "device_id" not in table.column_names:
            continue
        rows = session.table(table.full_name).where(F.col("device_id") == device_id).count()
        if rows:
            session.sql(
                f"DELETE FROM {table.full_name} WHERE device_id = :device",  # noqa: S608 - ours
                args={"device": device_id},
            )
        done[table.name] = f"{rows} rows of {device_id} deleted"
    return done
