"""Thirty days that never were, behind the demonstration's fleet: rows of metadata, and no message.

Each row is marked as made up, so that no ledger, no hour and no alarm counts it.
"""

from contextlib import closing
from pathlib import Path
from typing import Final

import duckdb
from pyiceberg.catalog.sql import SqlCatalog

from clients.devices.registry import RegisteredDevice
from fleetlane.events.lake.tables import CATALOG, MADE_UP, NAMESPACE
from fleetlane.events.times import DAY_MS
from local.demo.lake_tables import append_rows, make_table
from local.spark.jobs import LocalLake
from operations.fleet.fleet import QUERIED

_ROWS: Final = Path(__file__).with_name("history.sql")
DAILY_QUERY: Final = Path(__file__).with_name("daily.sql")
"""A query of ``daily``'s rows over those of ``received`` and ``parsed``, in one attempt each."""

_REGISTERED_DAYS: Final = 90


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
        connection.sql(DAILY_QUERY.read_text(encoding="utf-8")).create("daily")
        catalog.create_namespace_if_not_exists(NAMESPACE)
        for table in QUERIED:
            made = make_table(catalog, table)
            append_rows(made, connection.table(table.name).to_arrow_table())
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
