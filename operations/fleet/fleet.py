"""A fleet to ask: the lake's tables and the registry, in one DuckDB connection in memory."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from types import TracebackType
from typing import Any, Final, Self

import duckdb
import pyarrow as pa
from pyiceberg.catalog import Catalog

from clients.devices.registry import RegisteredDevice
from fleetlane.events.times import DAY_MS
from operations.fleet.tables import PlannedTable, planned_tables

HISTORY_DAYS: Final = 30
_REGISTERED: Final = pa.schema(
    {
        "device_id": pa.string(),
        "device_type": pa.string(),
        "status": pa.string(),
        "gateway_id": pa.string(),
        "registered_ms": pa.int64(),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """The ``days`` times 24 hours that end at ``asked_at_ms``, which is part of it."""

    asked_at_ms: int
    days: int

    @property
    def since_ms(self) -> int:
        return self.asked_at_ms - self.days * DAY_MS

    @property
    def since_day(self) -> date:
        return day_of(self.since_ms)

    @property
    def parameters(self) -> dict[str, object]:
        """By the names that the questions' SQL uses, in ``IN_WINDOW``."""
        return {
            "asked_at_ms": self.asked_at_ms,
            "since_ms": self.since_ms,
            "since_day": self.since_day,
        }


IN_WINDOW: Final = "day >= $since_day and received_ms > $since_ms and received_ms <= $asked_at_ms"
"""The condition for rows of ``received``. The day comes first: it spares whole files."""


class Fleet:
    """Answers SQL about ``received``, ``parsed``, ``daily`` and ``registered``, as of one time.

    A context manager. What is written to the lake later is not seen.
    """

    def __init__(
        self,
        tables: Mapping[str, PlannedTable],
        registered: Iterable[RegisteredDevice],
        *,
        asked_at_ms: int,
    ) -> None:
        self.asked_at_ms = asked_at_ms
        self.file_bytes = sum(table.file_bytes for table in tables.values())
        """Of all files that hold what can be asked for."""
        self._connection = duckdb.connect()
        self._connection.execute("set timezone = 'UTC'")
        for name, table in tables.items():
            self._connection.register(name, table.dataset)
        self._connection.register("registered", _registered_rows(registered))

    @classmethod
    def of(
        cls, catalog: Catalog, registered: Iterable[RegisteredDevice], *, asked_at_ms: int
    ) -> Self:
        """Plan the lake's tables for questions of up to ``HISTORY_DAYS`` before ``asked_at_ms``.

        Raises:
            LakeMissingError: The lake has no such tables yet.
            RowsDeletedBesideError: They cannot be read as they lie.
        """
        since = Window(asked_at_ms=asked_at_ms, days=HISTORY_DAYS).since_day
        tables = planned_tables(catalog, since=since)
        return cls(tables, registered, asked_at_ms=asked_at_ms)

    def last(self, days: int) -> Window:
        return Window(asked_at_ms=self.asked_at_ms, days=days)

    def rows[Row](self, row: type[Row], sql: str, **parameters: object) -> list[Row]:
        """Ask, and make a ``row`` of each one, by the names of its columns."""
        result = self._connection.execute(sql, parameters)
        names = [column[0] for column in result.description or ()]
        make: Any = row
        return [make(**dict(zip(names, values, strict=True))) for values in result.fetchall()]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._connection.close()


def day_of(at_ms: int) -> date:
    """The day (UTC) of a time."""
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=at_ms)).date()


def _registered_rows(devices: Iterable[RegisteredDevice]) -> pa.Table:
    rows = [
        {
            "device_id": device.device_id,
            "device_type": device.device_type,
            "status": device.status.value,
            "gateway_id": device.gateway_id,
            "registered_ms": device.registered_ms,
        }
        for device in devices
    ]
    return pa.Table.from_pylist(rows, schema=_REGISTERED)
