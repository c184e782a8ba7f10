"""A laptop's lake by its catalog, its manifests and DuckDB's own reader: files of this machine.

pyiceberg reads it too, and AWS Glue's alone; it takes longer to import than most questions take.
"""

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, Final

from clients.lake.parquet_rows import ParquetRows
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.lake.tables import LakeTable
from fleetlane.parsers.formats.avro.parser import container_records

_DELETED: Final = 2
"""The status of a file in a manifest that is no longer the table's."""

_TABLES: Final = "iceberg_tables"


class LakeMissingError(FleetlaneError):
    """The lake has no such table: its job has not written yet."""

    table: str
    catalog: str
    sentence = "there is no table {table} in {catalog}: the lake's job writes it first"


class RowsDeletedBesideError(FleetlaneError):
    """A table has delete files, which are not read here."""

    table: str
    files: int
    sentence = "{table} has {files} data files with deletes beside them: compact it first"


@dataclass(frozen=True, slots=True, kw_only=True)
class LaptopLake:
    """The lake whose ``catalog`` is a SQLite file."""

    catalog: Path

    def has_tables(self) -> bool:
        """Whether the catalog is there whole: Spark makes its file first, then its tables."""
        named = "SELECT 1 FROM sqlite_master WHERE name = ?"
        return self.catalog.is_file() and self._value(named, _TABLES) is not None

    def rows(self, table: LakeTable) -> ParquetRows:
        """All rows of a table.

        Raises ``LakeMissingError``, or ``RowsDeletedBesideError`` where it has delete files.
        """
        metadata = self._metadata(table)
        files = [
            (str(_path(one["file_path"])), date.fromisoformat(one["partition"]["day"]))
            for one in _files(metadata, table)
        ]
        current = metadata["current-schema-id"]
        (schema,) = (one for one in metadata["schemas"] if one["schema-id"] == current)
        fields = [
            (one["id"], one["name"], one["type"])
            for one in schema["fields"]
            if isinstance(one["type"], str)
        ]
        return ParquetRows(files=tuple(files), fields=tuple(fields))

    def _metadata(self, table: LakeTable) -> Any:
        namespace, _, name = table.identifier.partition(".")
        asked = (
            f"SELECT metadata_location FROM {_TABLES} WHERE table_namespace = ? AND table_name = ?"
        )
        location = self._value(asked, namespace, name) if self.has_tables() else None
        if location is None:
            raise LakeMissingError(table.identifier, str(self.catalog))
        return json.loads(_path(location).read_bytes())

    def _value(self, query: str, *values: str) -> str | None:
        file = f"{self.catalog.absolute().as_uri()}?mode=ro"
        with closing(sqlite3.connect(file, uri=True)) as database:
            found = database.execute(query, values).fetchone()
        return None if found is None else str(found[0])


def _files(metadata: Mapping[str, Any], table: LakeTable) -> list[Mapping[str, Any]]:
    snapshots = {one["snapshot-id"]: one for one in metadata.get("snapshots", ())}
    current = snapshots.get(metadata.get("current-snapshot-id"))
    manifests = () if current is None else _records(current["manifest-list"])
    entries = (entry for one in manifests for entry in _records(one["manifest_path"]))
    files = [entry["data_file"] for entry in entries if entry["status"] != _DELETED]
    if deletes := sum(bool(one["content"]) for one in files):
        raise RowsDeletedBesideError(table.identifier, deletes)
    return files


def _records(location: str) -> Iterator[Any]:
    return container_records(_path(location).read_bytes(), "hex")


def _path(location: str) -> Path:
    """Iceberg for Java writes ``file:/…``, others ``file:///…``."""
    return Path("/" + location.removeprefix("file:").lstrip("/"))
