"""The lake's tables, created where they are missing."""

import threading
from typing import Final

from pyspark.sql import SparkSession

from fleetlane.events.lake.tables import CATALOG, NAMESPACE, LakeTable

_CREATING: Final = threading.Lock()
"""Of two threads that find the namespace missing and create it, one would fail."""

_PROPERTIES: Final = {
    "format-version": "2",
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "20",
}


def ensure_table(session: SparkSession, table: LakeTable) -> None:
    """Create ``table`` where it is missing; safe to repeat, and in several threads.

    One that an older release made gets the columns that it lacks; its rows have nothing in them.
    """
    with _CREATING:
        _create(session, table)
        _add_missing_columns(session, table)


def _create(session: SparkSession, table: LakeTable) -> None:
    columns = ", ".join(map(str, table.columns))
    properties = ", ".join(f"'{name}'='{value}'" for name, value in _PROPERTIES.items())
    session.sql(f"CREATE NAMESPACE IF NOT EXISTS {CATALOG}.{NAMESPACE}")
    session.sql(
        f"CREATE TABLE IF NOT EXISTS {table.full_name} ({columns}) USING iceberg"
        f" PARTITIONED BY ({', '.join(table.partitioned_by)}) TBLPROPERTIES ({properties})"
    )


def _add_missing_columns(session: SparkSession, table: LakeTable) -> None:
    there = set(session.table(table.full_name).columns)
    missing = [str(column) for column in table.columns if column.name not in there]
    if missing:
        session.sql(f"ALTER TABLE {table.full_name} ADD COLUMNS ({', '.join(missing)})")
