"""The lake on a laptop: a folder with its tables, and their catalog, a SQLite file, beside them."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from operations.endpoints import LAKE_CATALOG

_BUSY_MS: Final = 30_000
"""How long one query's commit waits for another's."""


@dataclass(frozen=True, slots=True)
class LocalLake:
    """A lake in ``folder``. It can be read while nothing runs."""

    folder: Path

    @property
    def warehouse(self) -> str:
        """Where tables lie, as a URL."""
        return self.folder.as_uri()

    @property
    def catalog_path(self) -> Path:
        return self.folder / LAKE_CATALOG.name

    @property
    def jdbc_uri(self) -> str:
        """The catalog, as Iceberg for Java opens it."""
        return f"jdbc:sqlite:{self.catalog_path}?busy_timeout={_BUSY_MS}"
