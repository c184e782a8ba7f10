"""Thirty days that never were, behind the demonstration's fleet: rows of metadata, and no message.

Each row is marked as made up, so that no ledger, no hour and no alarm counts it.
"""

from contextlib import closing
from pathlib import Path
from typing import Final

import duckdb
import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import (
    BooleanType,
    DateType,
    IcebergType,
    IntegerType,
    LongType,
    NestedField,
    StringType,
)

from clients.devices.registry import RegisteredDevice
from fleetlane.events.lake.tables import CATALOG, MADE_UP, NAMESPACE, PROPERTIES, LakeTable
from fleetlane.events.times import DAY_MS
from local.spark.jobs import LocalLake
from operations.fleet.fleet import QUERIED

_ROWS: Final = Path(__file__).with_name("history.sql")
_REGISTERED_DAYS: Final = 90
_TYPES: Final[dict[str, IcebergType]] = {
    "bigint": LongType(),
    "boolean": BooleanType(),
    "date": DateType(),
    "int": IntegerType(),
    "string": StringType(),
}


def write_history(lake: LocalLake, *, now_ms: int) -> tuple[RegisteredDevice, ...]:
    """Make the tables that answers about the fleet are of, with rows up to ``now_ms``.

    Gives the devices, to be registered. Blocks for seconds; the lake must be empty, and no job may
    have started on it: one would make the same tables.
    """
    lake.folder.mkdir(parents=True, exist_ok=True)
    uri = f"sqlite:///{lake.catalog_path}"
    with (
        closing(SqlCatalog(CATALOG, uri=uri, warehouse=lake.warehouse)) as catalog,
        duckdb.connect() as connection,
    ):
        connection.execute("set variable now_ms = $now_ms", {"now_ms": now_ms})
        connection.execute("set variable made_up = $made_up", {"made_up": MADE_UP})
        connection.execute(_ROWS.read_text(encoding="utf-8"))
        catalog.create_namespace_if_not_exists(NAMESPACE)
        for table in QUERIED:
            _write(catalog, table, connection.table(table.name).to_arrow_table())
        devices = connection.sql("select device_id, stream, gateway_id from device").fetchall()
    return tuple(  # without keys: none of them can send
        RegisteredDevice(
            device_id=device_id,
            device_type=device_type,
            keys=(),
            gateway_id=gateway_id,
            registered_ms=now_ms - _REGISTERED_DAYS * DAY_MS,
        )
        for device_id, device_type, gateway_id in devices
    )


def _write(catalog: SqlCatalog, table: LakeTable, rows: pa.Table) -> None:
    """Make a table as the lake's job makes it, and fill it in one commit."""
    fields = (
        NestedField(at, column.name, _TYPES[column.type], required=column.is_required)
        for at, column in enumerate(table.columns, start=1)
    )
    schema = Schema(*fields)
    day = PartitionField(schema.find_field("day").field_id, 1000, IdentityTransform(), "day")
    made = catalog.create_table(
        table.identifier, schema, partition_spec=PartitionSpec(day), properties=dict(PROPERTIES)
    )
    arrow = schema_to_pyarrow(made.schema(), include_field_ids=False)
    columns = [
        rows[field.name].cast(field.type)
        if field.name in rows.column_names
        else pa.nulls(len(rows), field.type)
        for field in arrow
    ]
    made.append(pa.table(columns, schema=arrow))
