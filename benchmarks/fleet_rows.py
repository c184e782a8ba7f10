"""Lakes to query: metadata rows of a fleet over 30 days, made by DuckDB, written by Iceberg.

Rows lie as the lake's job leaves them after its upkeep: a file a day, sorted as its table is.
"""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Final

import duckdb
from pyiceberg.catalog.sql import SqlCatalog

from benchmarks.iceberg_tables import folder_catalog
from clients.devices.registry import RegisteredDevice
from fleetlane.events.lake.tables import DAILY, PARKED, PARSED, RECEIVED
from fleetlane.events.times import DAY_MS, HOUR_MS, day_of
from local.demo.history import DAILY_QUERY
from local.demo.lake_tables import append_rows, make_table

DAYS: Final = 30
EVENTS_A_MESSAGE: Final = 10
ROW_BYTES: Final = 50
"""What a row takes in a file, about: pyiceberg limits a row group's rows, Spark its bytes."""

ROW_GROUP_ROWS: Final = "write.parquet.row-group-limit"

ASKED_AT_MS: Final = 20_000 * DAY_MS
"""The end of a day: the 30 days before are whole."""

_SOME_SQL: Final = f"""
    select
        number,
        (pow((hash(number) % 1000000) / 1000000.0, 1.3) * $devices * 0.97)::bigint as device,
        0 as place,
        $since_ms + number * {DAY_MS} // $messages as received_ms,
        hash(number + 1) % 1000 as chance,
        true as declares
    from range($messages) numbers(number)
"""
_EACH_SQL: Final = f"""
    select
        place * $devices + device as number,
        device,
        place,
        $since_ms + hash(number, $since_ms) % {DAY_MS} as received_ms,
        hash(number + 1, $since_ms) % 1000 as chance,
        device % 4 < 3 as declares
    from range($devices) devices(device), (values (0), (1)) places(place)
    where (place = 0 or device % 10 = 0)
        and device % 100 != 13
        and (device % 50 != 7 or hash(device) % {DAYS} > ({ASKED_AT_MS} - $since_ms) // {DAY_MS})
        and hash(device, $since_ms) % 20 != 0
"""
_RECEIVED_SQL: Final = f"""
    select
        $day as day,
        printf('1%016x%016x', hash($since_ms + number), number) as id,
        printf('d-%05d', device) as device_id,
        'type-' || device % 4 as device_type,
        '1.' || hash(device) % 12 as firmware,
        'stream-' || (device + place) % 5 as stream,
        if(chance < 20, 'slow', 'standard') as lane,
        if(device % 33 = 0, 'gw-' || device % 7, null) as via,
        'raw.standard' as source_topic,
        (number % 8)::int as source_partition,
        number as source_offset,
        received_ms,
        (200 + pow(chance, 1.5))::bigint as body_bytes,
        chance = 0 as by_reference,
        if(declares, received_ms - 600000, null) as start_ms,
        received_ms - if(device % 20 = 1, {HOUR_MS} + chance * 60000, chance * 200) as last_ms,
        if(declares, last_ms, null) as end_ms
    from ({{sent}})
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
        body_bytes * 8 as output_bytes,
        received_ms,
        if(outcome = 'parked', 'malformed', null) as reason,
        'parser-' || hash(stream) % 3 || '@1.0.0' as parser,
        received_ms - 600000 as first_event_ms,
        last_ms as last_event_ms
    from received
"""
_PARKED_SQL: Final = """
    select
        day, id || '-1' as key, reason, 'field ' || hash(id) % 20 || ' is not a number' as detail,
        'parse.standard' as parked_from, parsed_ms as parked_ms, source_partition, source_offset,
        [] as headers, id, attempt, device_id, stream, parser
    from parsed where outcome = 'parked'
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetOfRows:
    """``devices`` that send ``messages`` in 30 days, some of them far more than others.

    Without ``messages`` each sends one a day and stream: a tenth has two streams, a fiftieth fell
    silent on some day, a hundredth never sent, a twentieth of all days is left out, and a quarter
    declares no times.
    """

    devices: int
    messages: int | None = None

    def registered_devices(self) -> Iterator[RegisteredDevice]:
        for number in range(self.devices):
            yield RegisteredDevice(
                device_id=f"d-{number:05d}",
                device_type=f"type-{number % 4}",
                keys=(),
                registered_ms=ASKED_AT_MS - 90 * DAY_MS,
            )

    def cached_lake(self, folder: Path) -> SqlCatalog:
        """The lake in a folder, made there once; one not finished, or of other rows, anew."""
        finished, made_of = folder / "finished", "\n".join(map(str, (self, *_MADE_OF)))
        if not finished.exists() or finished.read_text() != made_of:
            shutil.rmtree(folder, ignore_errors=True)
            self._make_lake(folder)
            finished.write_text(made_of)
        return folder_catalog(folder)

    def _make_lake(self, folder: Path) -> None:
        catalog = folder_catalog(folder)
        for table in _TABLES:
            made = make_table(catalog, table)
            if table.row_group_bytes is not None:
                with made.transaction() as change:
                    change.set_properties({ROW_GROUP_ROWS: str(table.row_group_bytes // ROW_BYTES)})
        with duckdb.connect() as connection:
            for day in range(DAYS):
                self._add_day(catalog, connection, ASKED_AT_MS - (DAYS - day) * DAY_MS)
        catalog.close()

    def _add_day(
        self, catalog: SqlCatalog, connection: duckdb.DuckDBPyConnection, since_ms: int
    ) -> None:
        day: date = day_of(since_ms)
        values = {"since_ms": since_ms, "day": day, "devices": self.devices}
        if self.messages is not None:
            values["messages"] = self.messages // DAYS
        sent = _EACH_SQL if self.messages is None else _SOME_SQL
        received = connection.sql(_RECEIVED_SQL.format(sent=sent), params=values)
        connection.register("received", received.to_arrow_table())
        connection.register("parsed", connection.sql(_PARSED_SQL).to_arrow_table())
        connection.register("parked", connection.sql(_PARKED_SQL).to_arrow_table())
        connection.register("daily", connection.sql(DAILY_QUERY.read_text()).to_arrow_table())
        for table in _TABLES:
            order = ", ".join(table.sorted_by or ("random()",))
            rows = connection.sql(f"from {table.name} order by {order}")
            append_rows(catalog.load_table(table.identifier), rows.to_arrow_table())


_TABLES: Final = (RECEIVED, PARSED, PARKED, DAILY)
_MADE_OF: Final = (*_TABLES, _SOME_SQL, _EACH_SQL, _RECEIVED_SQL, _PARSED_SQL, _PARKED_SQL)
