"""The lake's tables without Spark: made and filled by pyiceberg in a folder."""

from pathlib import Path
from typing import Final

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    NestedField,
    StringType,
    StructType,
)

from fleetlane.events.lake.tables import CATALOG, NAMESPACE, LakeTable

_HEADER: Final = StructType(
    NestedField(902, "key", StringType()), NestedField(903, "value", BinaryType())
)
_NAMED: Final = StructType(
    *(
        NestedField(912 + at, name, StringType())
        for at, name in enumerate(("id", "sha256", "problem"))
    )
)
_TYPES: Final[dict[str, IcebergType]] = {
    "array<struct<key:string,value:binary>>": ListType(901, _HEADER, element_required=False),
    "array<struct<id:string,sha256:string,problem:string>>": ListType(
        911, _NAMED, element_required=False
    ),
    "binary": BinaryType(),
    "bigint": LongType(),
    "boolean": BooleanType(),
    "date": DateType(),
    "int": IntegerType(),
    "string": StringType(),
}


def folder_catalog(folder: Path) -> SqlCatalog:
    """A catalog in a folder, with the lake's namespace and no tables."""
    folder.mkdir(parents=True, exist_ok=True)
    catalog = SqlCatalog(
        CATALOG, uri=f"sqlite:///{folder}/catalog.db", warehouse=(folder / "warehouse").as_uri()
    )
    catalog.create_namespace_if_not_exists(NAMESPACE)
    return catalog


def make_table(catalog: SqlCatalog, table: LakeTable) -> None:
    """Make a table, empty."""
    schema = Schema(
        *(
            NestedField(at, column.name, _TYPES[column.type], required=column.is_required)
            for at, column in enumerate(table.columns, start=1)
        )
    )
    fields = [
        PartitionField(schema.find_field(name).field_id, 1000 + at, IdentityTransform(), name)
        for at, name in enumerate(table.partitioned_by)
    ]
    catalog.create_table(table.identifier, schema, partition_spec=PartitionSpec(*fields))


def add_rows(catalog: SqlCatalog, table: LakeTable, rows: list[dict[str, object]]) -> None:
    """Append rows, columns that are left out are null."""
    loaded = catalog.load_table(table.identifier)
    loaded.append(pa.Table.from_pylist(rows, schema=schema_to_pyarrow(loaded.schema())))
