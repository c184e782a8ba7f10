"""The lake's tables as Arrow datasets: Iceberg plans which files count, Arrow reads them.

And a stream's newest events as its view shows them, through DuckDB.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import date
from typing import Any, Final

import duckdb
import pyarrow as pa
from pyarrow import dataset as ds
from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.io.pyarrow import PyArrowFileIO, schema_to_pyarrow
from pyiceberg.table import FileScanTask, Table

from clients.lake.view_sql import Engine, create_view
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.lake.tables import DAILY, EVENTS, NAMESPACE, PARSED, RECEIVED, LakeTable
from fleetlane.events.lake.views import LakeView

QUERIED: Final = (RECEIVED, PARSED, DAILY)
_PARQUET: Final = ds.ParquetFileFormat()


class LakeMissingError(FleetlaneError):
    """The lake has no such table: its job has not written yet."""

    reason = "lake_missing"
    table: str
    catalog: str
    sentence = "there is no table {table} in {catalog}: the lake's job writes it first"


class RowsDeletedBesideError(FleetlaneError):
    """A table has delete files, which are not read here."""

    reason = "rows_deleted_beside"
    table: str
    files: int
    sentence = "{table} has {files} data files with deletes beside them: compact it first"


def planned_tables(catalog: Catalog, *, since: date) -> Mapping[str, ds.FileSystemDataset]:
    """Plan the tables of ``QUERIED`` by name; ``daily`` wholly, the others from ``since`` on."""
    lately = day_since(since)
    return {
        table.name: planned_table(catalog, table, where=None if table is DAILY else lately)
        for table in QUERIED
    }


def day_since(since: date) -> str:
    """The condition for the days from ``since`` on."""
    return f"day >= '{since.isoformat()}'"


def planned_table(catalog: Catalog, table: LakeTable, *, where: str | None) -> ds.FileSystemDataset:
    """Plan a table's files that may hold rows ``where`` a condition of pyiceberg's holds.

    Raises:
        LakeMissingError: It is missing.
        RowsDeletedBesideError: It has delete files.
    """
    name = f"{catalog.properties.get('database', NAMESPACE)}.{table.name}"
    try:
        loaded = catalog.load_table(name)
    except NoSuchTableError:
        raise LakeMissingError(name, catalog.name) from None
    scan = loaded.scan(selected_fields=table.column_names)
    if where is not None:
        scan = scan.filter(where)
    tasks = list(scan.plan_files())
    deleted = sum(bool(task.delete_files) for task in tasks)
    if deleted:
        raise RowsDeletedBesideError(name, deleted)
    return _dataset(loaded, tasks, day_at=table.partitioned_by.index("day"))


def _dataset(table: Table, tasks: Iterable[FileScanTask], *, day_at: int) -> ds.FileSystemDataset:
    """One fragment per file. Each knows its day, so that a query opens no other days' files."""
    io: Any = table.io
    fragments = []
    for task in tasks:
        scheme, netloc, path = PyArrowFileIO.parse_location(task.file.file_path)
        day = pa.scalar(task.file.partition[day_at], pa.int32()).cast(pa.date32())
        fragment = _PARQUET.make_fragment(
            path,
            filesystem=io.fs_by_scheme(scheme, netloc),
            partition_expression=ds.field("day") == day,
        )
        fragments.append(fragment)
    schema = schema_to_pyarrow(table.schema(), include_field_ids=False)
    return ds.FileSystemDataset(fragments, schema, _PARQUET)


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewRows:
    """Rows of a view, each with a value for each column."""

    view: LakeView
    rows: Sequence[tuple[object, ...]]


def newest(catalog: Catalog, view: LakeView, *, since: date, rows_max: int) -> ViewRows:
    """The newest events of the days from ``since`` on, by arrival, the newest first."""
    where = f"stream = '{view.stream}' and {day_since(since)}"
    events = planned_table(catalog, EVENTS, where=where)
    return newest_of(events, view, since=since, rows_max=rows_max)


def newest_of(events: ds.Dataset, view: LakeView, *, since: date, rows_max: int) -> ViewRows:
    """The same of rows of the lake's table, wherever they come from."""
    with closing(duckdb.connect()) as connection:
        connection.register("rows_of_events", events)
        connection.execute(f"create schema {NAMESPACE}")
        connection.execute(f"create view {EVENTS.identifier} as from rows_of_events")
        connection.execute(create_view(view, Engine.DUCKDB))
        result = connection.execute(
            f"from {NAMESPACE}.{view.name} where day >= $since"
            " order by arrived_at desc, id limit $rows_max",
            {"since": since, "rows_max": rows_max},
        )
        return ViewRows(view=view, rows=result.fetchall())
