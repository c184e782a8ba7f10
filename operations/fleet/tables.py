"""The lake's tables by pyiceberg, which plans which files count; Arrow or DuckDB reads them."""

from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any, Final

import pyarrow as pa
from pyarrow import dataset as ds
from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.io.pyarrow import PyArrowFileIO, schema_to_pyarrow
from pyiceberg.table import FileScanTask, Table

from clients.lake.laptop_lake import LakeMissingError, RowsDeletedBesideError
from clients.lake.parquet_rows import ParquetRows
from fleetlane.events.lake.tables import NAMESPACE, LakeTable

_PARQUET: Final = ds.ParquetFileFormat()
_EPOCH: Final = date(1970, 1, 1)


def day_since(since: date) -> str:
    return f"day >= '{since.isoformat()}'"


def planned_rows(catalog: Catalog, table: LakeTable, *, where: str | None) -> ParquetRows:
    """The same as ``planned_table``, for DuckDB; files in S3 it reads by ``LakeFiles``."""
    loaded, tasks = _planned(catalog, table, where)
    days_at = table.partitioned_by.index("day")
    return ParquetRows(
        files=tuple(
            (one.file.file_path, _EPOCH + timedelta(days=one.file.partition[days_at]))
            for one in tasks
        ),
        fields=tuple(
            (one.field_id, one.name, str(one.field_type))
            for one in loaded.schema().fields
            if one.name in table.column_names
        ),
    )


def planned_table(catalog: Catalog, table: LakeTable, *, where: str | None) -> ds.FileSystemDataset:
    """Plan a table's files that may hold rows ``where`` a condition of pyiceberg's holds.

    Each knows its day, so that a query opens no other days' files. Raises ``LakeMissingError``, or
    ``RowsDeletedBesideError`` where the table has delete files.
    """
    loaded, tasks = _planned(catalog, table, where)
    io: Any = loaded.io
    fragments = []
    for task in tasks:
        scheme, netloc, path = PyArrowFileIO.parse_location(task.file.file_path)
        day = task.file.partition[table.partitioned_by.index("day")]
        is_its_day = ds.field("day") == pa.scalar(day, pa.int32()).cast(pa.date32())
        files = io.fs_by_scheme(scheme, netloc)
        fragments.append(
            _PARQUET.make_fragment(path, filesystem=files, partition_expression=is_its_day)
        )
    schema = schema_to_pyarrow(loaded.schema(), include_field_ids=False)
    return ds.FileSystemDataset(fragments, schema, _PARQUET)


def _planned(
    catalog: Catalog, table: LakeTable, where: str | None
) -> tuple[Table, Sequence[FileScanTask]]:
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
    return loaded, tasks
