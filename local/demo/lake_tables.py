"""The lake's tables made and filled by pyiceberg, where no job has started yet."""

from collections.abc import Mapping
from typing import Final

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.table import Table

from fleetlane.events.lake.tables import PROPERTIES, LakeTable

_HEADER: Final = pa.struct({"key": pa.string(), "value": pa.binary()})
_NAMED: Final = pa.struct(dict.fromkeys(("id", "sha256", "problem"), pa.string()))
_TYPES: Final[Mapping[str, pa.DataType | str]] = {
    "array<struct<key:string,value:binary>>": pa.list_(_HEADER),
    "array<struct<id:string,sha256:string,problem:string>>": pa.list_(_NAMED),
    "bigint": pa.int64(),
    "date": pa.date32(),
    "int": pa.int32(),
}
"""Those that Arrow does not call as Spark's SQL does."""


def make_table(catalog: SqlCatalog, table: LakeTable) -> Table:
    fields = [
        pa.field(one.name, _TYPES.get(one.type, one.type), nullable=not one.is_required)
        for one in table.columns
    ]
    made = catalog.create_table(table.identifier, pa.schema(fields), properties=PROPERTIES)
    with made.update_spec() as partitioning:
        for name in table.partitioned_by:
            partitioning.add_identity(name)
    return made


def append_rows(table: Table, rows: pa.Table) -> None:
    """Append rows in one commit; columns that are left out are null."""
    schema = schema_to_pyarrow(table.schema(), include_field_ids=False)
    whole = pa.concat_tables([schema.empty_table(), rows], promote_options="permissive")
    table.append(whole.select(schema.names).cast(schema))
