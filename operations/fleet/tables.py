"""The lake's tables by pyiceberg, which plans which files count; and their files, for DuckDB."""

from datetime import UTC, date, datetime, timedelta
from threading import local
from typing import Any, Final

from fsspec import AbstractFileSystem
from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.io import load_file_io
from pyiceberg.table import Table

from clients.lake.laptop_lake import LakeMissingError, RowsDeletedBesideError
from clients.lake.parquet_rows import ParquetRows
from fleetlane.events.lake.tables import NAMESPACE, LakeTable

_EPOCH: Final = date(1970, 1, 1)


def day_since(since: date) -> str:
    return f"day >= '{since.isoformat()}'"


def table_of(catalog: Catalog, table: LakeTable) -> Table:
    """A table as it is now; raises ``LakeMissingError``."""
    name = f"{catalog.properties.get('database', NAMESPACE)}.{table.name}"
    try:
        return catalog.load_table(name)
    except NoSuchTableError:
        raise LakeMissingError(name, catalog.name) from None


def planned_rows(loaded: Table, table: LakeTable, *, where: str) -> ParquetRows:
    """Plan a table's files that may hold rows ``where`` a condition of pyiceberg's holds.

    Raises ``RowsDeletedBesideError`` where it has delete files.
    """
    tasks = list(loaded.scan(row_filter=where).plan_files())
    if deleted := sum(bool(task.delete_files) for task in tasks):
        raise RowsDeletedBesideError(".".join(loaded.name()), deleted)
    day_at = table.partitioned_by.index("day")
    days = (_EPOCH + timedelta(days=task.file.partition[day_at]) for task in tasks)
    fields = [one for one in loaded.schema().fields if one.field_type.is_primitive]
    return ParquetRows(
        files=tuple(zip((task.file.file_path for task in tasks), days, strict=True)),
        fields=tuple((one.field_id, one.name, str(one.field_type)) for one in fields),
    )


class LakeFiles(AbstractFileSystem):  # type: ignore[misc] # fsspec has no types
    """Files in S3, none of which changes, for DuckDB: its own S3 is an extension to download."""

    protocol = "s3"
    cachable = False

    def __init__(self, catalog: Catalog) -> None:
        super().__init__()
        self._io, self._files = load_file_io(catalog.properties), dict[str, Any]()

    def open(self, path: str, *_: object, **__: object) -> "_Reading":
        return _Reading(self._file(path))

    def glob(self, path: str, **_: object) -> list[str]:
        """The path itself: none has a wildcard."""
        return [path]

    def size(self, path: str) -> int:
        return int(self._file(path).size())

    def modified(self, _path: str) -> datetime:
        return datetime.fromtimestamp(0, UTC)

    def _file(self, path: str) -> Any:
        """Each is opened once: that asks S3 for its size."""
        if path not in self._files:
            self._files[path] = self._io.new_input(path).open()
        return self._files[path]


class _Reading:
    """A file of Arrow's. DuckDB reads its columns side by side, and each thread seeks first."""

    def __init__(self, file: Any) -> None:
        self._file, self._place = file, local()

    def seek(self, offset: int) -> None:
        self._place.offset = offset

    def read(self, size: int) -> bytes:
        data: bytes = self._file.read_at(size, self._place.offset)
        self._place.offset += len(data)
        return data

    def close(self) -> None:
        """The file stays open for the next question."""
