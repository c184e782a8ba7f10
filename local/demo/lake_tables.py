"""The lake's tables made and filled by pyiceberg, where no job has started yet."""

from collections.abc import Mapping
from typing import Final

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import IcebergType, ListType, NestedField, StructType

from fleetlane.events.lake.tables import PROPERTIES, LakeTable

_HEADER: Final = StructType(NestedField(902, "key", "string"), NestedField(903, "value", "binary"))
_NAMED: Final = StructType(
    *(NestedField(912 + at, name, "string") for at, name in enumerate(("id", "sha256", "problem")))
)
_TYPES: Final[Mapping[str, IcebergType | str]] = {
    "array<struct<key:string,value:binary>>": ListType(901, _HEADER, element_required=False),
    "array<struct<id:string,sha256:string,problem:string>>": ListType(
        911, _NAMED, element_required=False
    ),
    "bigint": "long",
}
"""Those that Iceberg does not write as Spark's SQL does."""


def make_table(catalog: SqlCatalog, table: LakeTable) -> Table:
    schema = Schema(
        *(
            NestedField(at, one.name, _TYPES.get(one.type, one.type), required=one.is_required)
            for at, one in enumerate(table.columns, start=1)
        )
    )
    fields = [
        PartitionField(schema.find_field(name).field_id, 1000 + at, IdentityTransform(), name)
        for at, name in enumerate(table.partitioned_by)
    ]
    spec = PartitionSpec(*fields)
    return catalog.create_table(
        table.identifier, schema, partition_spec=spec, properties=PROPERTIES
    )


def append_rows(table: Table, rows: pa.Table) -> None:
    """Append rows in one commit; columns that are left out are null."""
    schema = schema_to_pyarrow(table.schema(), include_field_ids=False)
    whole = pa.concat_tables([schema.empty_table(), rows], promote_options="permissive")
    table.append(whole.select(schema.names).cast(schema))
