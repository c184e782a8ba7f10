"""The lake's tables and the registry, queried in one DuckDB connection in memory."""

import re
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from datetime import date
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

import duckdb

from clients.devices.registry import RegisteredDevice
from clients.lake.laptop_lake import LaptopLake
from clients.lake.parquet_rows import ParquetRows
from fleetlane.events import canary
from fleetlane.events.lake.queries import queries
from fleetlane.events.lake.tables import (
    DAILY,
    EVENTS,
    MADE_UP,
    OBJECTIVES,
    PARKED,
    PARSED,
    RECEIVED,
    REPEATS,
    LakeTable,
)
from fleetlane.events.times import DAY_MS, MILLIS_MAX, MILLIS_MIN, day_of
from operations.fleet.questions import Question, Table

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog

type Lake = Catalog | LaptopLake

HISTORY_DAYS: Final = 30
QUERIED: Final = (RECEIVED, PARSED, DAILY)

_KEPT: Final = {f"kept_{one.name}": one for one in (EVENTS, REPEATS)}
_NAMES: Final = {
    **{one.name: one for one in (*QUERIED, OBJECTIVES)},
    "parked_messages": PARKED,
    **_KEPT,
}
"""By what SQL calls them: ``parked`` and ``events`` are columns of many."""

_BY_DAY: Final = (RECEIVED, PARSED, OBJECTIVES)
"""Asked of by their days alone: files of other days are not opened."""

_ARRIVED_WITHIN_MS: Final = 2 * DAY_MS
"""How long ago at most what is kept arrived: they lie by their own days, not by arrival."""

_OF_FLEET: Final = "({} or device_id is null)".format(
    " and ".join(f"device_id != '{one}'" for one in canary.OWN_DEVICES)
)
"""No question about the fleet sees our own devices, in whatever table. A record has maybe none."""

_SQL: Final = queries(
    __package__, "fleet.sql", of_fleet=_OF_FLEET, first_ms=MILLIS_MIN, last_ms=MILLIS_MAX
)
_PARAMETER: Final = re.compile(r"\$(\w+)")
_WORD: Final = re.compile(r"\w+")

IN_WINDOW: Final = "day >= $since_day and received_ms > $since_ms and received_ms <= $asked_at_ms"
"""The condition for rows of ``received``. The day comes first: it excludes whole files."""


class Fleet(AbstractContextManager["Fleet"]):
    """Runs SQL over the lake's tables and ``registered``, as of one time.

    Those are ``received``, ``parsed``, ``daily``, ``objectives``, ``parked_messages``, and
    ``kept_events`` and ``kept_repeats``: those of the messages of two days.

    What is written to a table after its first question is not seen.
    """

    def __init__(
        self, lake: Lake, registered: Iterable[RegisteredDevice], *, asked_at_ms: int
    ) -> None:
        """Ask about up to ``HISTORY_DAYS`` before ``asked_at_ms``.

        A table, and the registry, is read where a question first names it.
        """
        self.asked_at_ms = asked_at_ms
        self._lake, self._rows = lake, dict[str, ParquetRows]()
        self._registered: Iterable[RegisteredDevice] | None = registered
        self._days_found: Final = dict[str, int]()
        self._folder = TemporaryDirectory(prefix="fleetlane-fleet-")
        self._connection = connection_to(lake)
        self._connection.execute(_SQL["open"], {"folder": self._folder.name})

    def ask(self, question: Question, *, days: int = HISTORY_DAYS, **given: object) -> Table:
        """Ask over ``days`` times 24 hours; ``given`` are parameters of the question."""
        since_ms = self.asked_at_ms - days * DAY_MS
        known = {
            "days": days,
            "asked_at_ms": self.asked_at_ms,
            "since_ms": since_ms,
            "since_day": day_of(since_ms),
            **question.parameters,
            **given,
        }
        for name, sql in question.kept.items():
            if self._days_found.get(name) != days:
                made = f"create or replace temp table {name} as {sql}"
                self._executed(made, _named_in(sql, known), days=days)
                self._days_found[name] = days
        self._name_tables_in(question.sql, days)
        return question.asked(self._connection, _named_in(question.sql, known), days=days)

    @cached_property
    def arrivals_ms(self) -> tuple[int | None, int | None]:
        """When the first and the latest message in the lake arrived; without any, ``None``."""
        found = self._executed(_SQL["arrivals"], {"asked_at_ms": self.asked_at_ms})
        ((first_ms, last_ms),) = found.fetchall()
        return first_ms, last_ms

    def final_outcomes(self) -> int:
        """Of how many messages the lake has the final outcome; what was made up is no message.

        0 until all of them are counted by day, too.
        """
        ((found,),) = self._executed(_SQL["outcomes"], {"made_up": MADE_UP}).fetchall()
        return int(found or 0)

    def _executed(
        self, sql: str, parameters: Mapping[str, object], *, days: int = HISTORY_DAYS
    ) -> duckdb.DuckDBPyConnection:
        """Run SQL over tables that it names; raises as ``rows_of``."""
        self._name_tables_in(sql, days)
        return self._connection.execute(sql, parameters)

    def _name_tables_in(self, sql: str, days: int) -> None:
        named = set(_WORD.findall(sql))
        for name in _NAMES.keys() & named:
            self._name(name, _NAMES[name], days)
        if "registered" in named and self._registered is not None:
            self._register(self._registered)
            self._registered = None

    def _register(self, registered: Iterable[RegisteredDevice]) -> None:
        path = Path(self._folder.name) / "registered.csv"
        with path.open("w", encoding="utf-8") as file:
            file.writelines(
                f"{one.device_id},{one.device_type},{one.status},{one.gateway_id or ''},"
                f"{one.registered_ms}\n"
                for one in registered
            )
        self._connection.execute(_SQL["read"], {"path": str(path)})
        path.unlink()
        self._connection.execute(_SQL["count"])

    def _name(self, name: str, table: LakeTable, days: int) -> None:
        """Let SQL name a table's rows, of so many days where all questions ask by them."""
        where = f"arrival_ms >= {self.asked_at_ms - _ARRIVED_WITHIN_MS}" if name in _KEPT else None
        history, since = (day_of(self.asked_at_ms - one * DAY_MS) for one in (HISTORY_DAYS, days))
        if name not in self._rows:
            planned = date.min if table is DAILY or name in _KEPT else history
            self._rows[name] = rows_of(self._lake, table, since=planned, where=where)
        rows = self._rows[name].since(since) if table in _BY_DAY else self._rows[name]
        columns = _SQL["received_columns"] if table is RECEIVED else "*"
        condition = _OF_FLEET if "device_id" in table.column_names else "true"
        self._connection.execute(
            f"create or replace view {name} as select {columns} from {rows}"
            f" where {condition} and {where or 'true'}"
        )

    def __exit__(self, *_: object) -> None:
        self._connection.close()
        self._folder.cleanup()


def connection_to(lake: Lake) -> duckdb.DuckDBPyConnection:
    """A database in memory whose SQL may name what ``rows_of`` gives of a lake."""
    connection = duckdb.connect()
    if not isinstance(lake, LaptopLake):
        from operations.fleet.tables import LakeFiles  # noqa: PLC0415 - as below

        connection.register_filesystem(LakeFiles(lake))
    return connection


def rows_of(lake: Lake, table: LakeTable, *, since: date, where: str | None = None) -> ParquetRows:
    """A table's rows of the days from ``since`` on, at least those ``where`` a condition holds.

    Raises ``LakeMissingError``, or ``RowsDeletedBesideError`` where the table has delete files.
    """
    if isinstance(lake, LaptopLake):
        return lake.rows(table).since(since)
    # Not above: pyiceberg takes seconds to import, which nobody at a laptop should wait for.
    from operations.fleet.tables import day_since, planned_rows, table_of  # noqa: PLC0415

    conditions = " and ".join(filter(None, (where, day_since(since))))
    return planned_rows(table_of(lake, table), table, where=conditions)


def _named_in(sql: str, known: Mapping[str, object]) -> dict[str, object]:
    return {name: known[name] for name in _PARAMETER.findall(sql)}
