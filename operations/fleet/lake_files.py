"""A lake's files in S3, for DuckDB: its own reader of S3 is an extension that it would download."""

from datetime import UTC, datetime
from threading import local
from typing import Any

from fsspec import AbstractFileSystem
from pyiceberg.catalog import Catalog
from pyiceberg.io import load_file_io


class LakeFiles(AbstractFileSystem):  # type: ignore[misc] # fsspec has no types
    """What DuckDB calls to read files, from several threads at once. No file ever changes."""

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
