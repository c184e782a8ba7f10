"""The lake's tables without Spark: made and filled by pyiceberg in a folder."""

from pathlib import Path

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.io.pyarrow import schema_to_pyarrow

from fleetlane.events.lake.tables import CATALOG, NAMESPACE, LakeTable


def folder_catalog(folder: Path) -> SqlCatalog:
    """A catalog in a folder, with the lake's namespace and no tables."""
    folder.mkdir(parents=True, exist_ok=True)
    catalog = SqlCatalog(
        CATALOG, uri=f"sqlite:///{folder}/catalog.db", warehouse=(folder / "warehouse").as_uri()
    )
    catalog.create_namespace_if_not_exists(NAMESPACE)
    return catalog


def add_rows(catalog: SqlCatalog, table: LakeTable, rows: list[dict[str, object]]) -> None:
    """Append rows, columns that are left out are null."""
    loaded = catalog.load_table(table.identifier)
    loaded.append(pa.Table.from_pylist(rows, schema=schema_to_pyarrow(loaded.schema())))
