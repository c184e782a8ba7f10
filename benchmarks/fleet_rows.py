"""A lake to query: metadata rows of a fleet over 30 days, made by DuckDB, written by Iceberg."""

import shutil
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Final

import duckdb
from pyiceberg.catalog.sql import SqlCatalog

from benchmarks.iceberg_tables import folder_catalog
from clients.devices.registry import RegisteredDevice
from fleetlane.events.lake.tables import DAILY, PARSED, RECEIVED, Column
from fleetlane.events.times import DAY_MS, HOUR_MS, day_of
from local.demo.history import DAILY_QUERY
from local.demo.lake_tables import append_rows, make_table

MESSAGES: Final = 5_000_000
DEVICES: Final = 20_000
DAYS: Final = 30
EVENTS_A_MESSAGE: Final = 10
ASKED_AT_MS: Final = 20_000 * DAY_MS
"""The end of a day: the 30 days before are whole."""

_RECEIVED_SQL: Final = f"""
    with drawn as (
        select
            number,
            (pow((hash(number) % 1000000) / 1000000.0, 1.3) * {DEVICES} * 0.97)::bigint as device,
            $since_ms + number * {DAY_MS} // $messages as received_ms,
            hash(number + 1) % 1000 as chance
        from range($messages) numbers(number)
    )
    select
        $day as day,
        printf('1%016x%016x', hash($since_ms + number), number) as id,
        printf('d-%05d', device) as device_id,
        'type-' || device % 4 as device_type,
        '1.' || hash(device) % 12 as firmware,
        'stream-' || device % 5 as stream,
        if(chance < 20, 'slow', 'standard') as lane,
        if(device % 33 = 0, 'gw-' || device % 7, null) as via,
        'raw.standard' as source_topic,
        (number % 8)::int as source_partition,
        number as source_offset,
        received_ms,
        (200 + pow(chance, 1.5))::bigint as body_bytes,
        chance = 0 as by_reference,
        received_ms - 600000 as start_ms,
        received_ms - if(device % 20 = 1, {HOUR_MS} + chance * 60000, chance * 200) as end_ms
    from drawn
"""
_PARSED_SQL: Final = f"""
    select
        day, id, 1 as attempt, device_id, stream, lane, source_topic, source_partition,
        source_offset,
        if(hash(id) % 1000 < 2 + 4 * (hash(firmware) % 5), 'parked', 'parsed') as outcome,
        received_ms + 1500 as parsed_ms,
        {EVENTS_A_MESSAGE} as events,
        (20 + hash(id) % 400)::bigint as parse_us,
        body_bytes * 3 as inflated_bytes,
        received_ms,
        if(outcome = 'parked', 'malformed', null) as reason,
        'parser-' || hash(stream) % 3 || '@1.0.0' as parser,
        start_ms as first_event_ms,
        end_ms as last_event_ms
    from received
"""


def cached_lake(folder: Path) -> SqlCatalog:
    """The lake in a folder, made there once; one not finished, or of other columns, anew."""
    finished, columns = folder / "finished", "\n".join(map(str, _columns()))
    if not finished.exists() or finished.read_text() != columns:
        shutil.rmtree(folder, ignore_errors=True)
        _make_lake(folder)
        finished.write_text(columns)
    return folder_catalog(folder)


def registered_devices() -> Iterator[RegisteredDevice]:
    for number in range(DEVICES):
        yield RegisteredDevice(
            device_id=f"d-{number:05d}",
            device_type=f"type-{number % 4}",
            keys=(),
            registered_ms=ASKED_AT_MS - 90 * DAY_MS,
        )


def _columns() -> Iterator[Column]:
    for table in (RECEIVED, PARSED, DAILY):
        yield from table.columns


def _make_lake(folder: Path) -> None:
    catalog = folder_catalog(folder)
    for table in (RECEIVED, PARSED, DAILY):
        make_table(catalog, table)
    with duckdb.connect() as connection:
        for day in range(DAYS):
            _add_day(catalog, connection, ASKED_AT_MS - (DAYS - day) * DAY_MS)
    catalog.close()


def _add_day(catalog: SqlCatalog, connection: duckdb.DuckDBPyConnection, since_ms: int) -> None:
    day: date = day_of(since_ms)
    values = {"since_ms": since_ms, "messages": MESSAGES // DAYS, "day": day}
    received = connection.sql(_RECEIVED_SQL, params=values).to_arrow_table()
    connection.register("received", received)
    parsed = connection.sql(_PARSED_SQL).to_arrow_table()
    connection.register("parsed", parsed)
    daily = connection.sql(DAILY_QUERY.read_text()).to_arrow_table()
    for table, rows in ((RECEIVED, received), (PARSED, parsed), (DAILY, daily)):
        append_rows(catalog.load_table(table.identifier), rows)
