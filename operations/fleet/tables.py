"""The lake's tables as Arrow datasets: Iceberg plans which files count, Arrow reads them."""

from collections.abc import Iterable
from datetime import date
from typing import Any, Final

import pyarrow as pa
from pyarrow import dataset as ds
from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.io.pyarrow import PyArrowFileIO, schema_to_pyarrow
from pyiceberg.table import FileScanTask, Table

from clients.lake.laptop_lake import LakeMissingError, RowsDeletedBesideError
from fleetlane.events.lake.tables import NAMESPACE, LakeTable

_PARQUET: Final = ds.ParquetFileFormat()


def day_since(since: date) -> str:
    return f"day >= '{since.isoformat()}'"


def planned_table(catalog: Catalog, table: LakeTable, *, where: str | None) -> ds.FileSystemDataset:
    """Plan a table's files that may hold rows ``where`` a condition of pyiceberg's holds.

    Raises ``LakeMissingError``, or ``RowsDeletedBesideError`` where it has delete files.
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
        files, is_its_day = io.fs_by_scheme(scheme, netloc), ds.field("day") == day
        fragments.append(
            _PARQUET.make_fragment(path, filesystem=files, partition_expression=is_its_day)
        )
    schema = schema_to_pyarrow(table.schema(), include_field_ids=False)
    return ds.FileSystemDataset(fragments, schema, _PARQUET)
