"""The lake's tables and the registry, queried in one DuckDB connection in memory."""

import re
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

import duckdb

from clients.devices.registry import RegisteredDevice
from clients.lake.laptop_lake import LaptopLake
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
    Column,
    LakeTable,
)
from fleetlane.events.times import DAY_MS, MILLIS_MAX, MILLIS_MIN, day_of
from operations.fleet.questions import Question, Table

if TYPE_CHECKING:
    from pyarrow import dataset as ds
    from pyiceberg.catalog import Catalog

type Lake = Catalog | LaptopLake
type Rows = ds.Dataset | str
"""A dataset, or what DuckDB reads ``from``."""

HISTORY_DAYS: Final = 30
QUERIED: Final = (RECEIVED, PARSED, DAILY)


def _columns(table: LakeTable, *names: str) -> tuple[Column, ...]:
    return tuple(one for one in table.columns if one.name in names)


_PARKED: Final = replace(
    PARKED, columns=_columns(PARKED, *({*PARKED.column_names} - {"headers", "body"}))
)
_OF_KEPT: Final = _columns(EVENTS, "raw_id", "device_id", "revision", "arrival_ms", "lake_ms")
_KEPT: Final = {f"kept_{one.name}": replace(one, columns=_OF_KEPT) for one in (EVENTS, REPEATS)}
_NAMES: Final = {
    **{one.name: one for one in (*QUERIED, OBJECTIVES)},
    "parked_messages": _PARKED,
    **_KEPT,
}
"""By what SQL calls them: ``parked`` and ``events`` are columns of many."""
_ARRIVED_WITHIN_MS: Final = 2 * DAY_MS
"""How long ago at most what is kept arrived: they lie by their own days, not by arrival."""

_OF_FLEET: Final = "({} or device_id is null)".format(
    " and ".join(f"device_id != '{one}'" for one in canary.OWN_DEVICES)
)
"""No question about the fleet sees our own devices, in whatever table. A record has maybe none."""

_REGISTERED: Final = queries(__package__, "registered.sql", of_fleet=_OF_FLEET)

_BELIEVED: Final = "* replace ({})".format(
    ", ".join(
        f"case when {name} between {MILLIS_MIN} and {MILLIS_MAX} then {name} end as {name}"
        for name in ("start_ms", "end_ms")
    )
)
"""Times of no calendar count as undeclared: computing with them fails for the whole fleet."""

_PARAMETER: Final = re.compile(r"\$(\w+)")
_WORD: Final = re.compile(r"\w+")

IN_WINDOW: Final = "day >= $since_day and received_ms > $since_ms and received_ms <= $asked_at_ms"
"""The condition for rows of ``received``. The day comes first: it excludes whole files."""


class Fleet(AbstractContextManager["Fleet"]):
    """Runs SQL over the lake's tables and ``registered``, as of one time.

    Those are ``received``, ``parsed``, ``daily``, ``objectives``, ``parked_messages``, which has
    no bodies, and ``kept_events`` and ``kept_repeats``: of two days' messages when their events
    came into the lake.

    What is written to a table after its first question is not seen.
    """

    def __init__(
        self, lake: Lake, registered: Iterable[RegisteredDevice], *, asked_at_ms: int
    ) -> None:
        """Ask about up to ``HISTORY_DAYS`` before ``asked_at_ms``.

        A table, and the registry, is read where a question first names it.
        """
        self.asked_at_ms = asked_at_ms
        self._lake, self._registered, self._read = lake, registered, set[str]()
        self._folder = TemporaryDirectory(prefix="fleetlane-fleet-")
        self._connection = duckdb.connect()
        self._connection.execute(_REGISTERED["open"], {"folder": self._folder.name})

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
        named = {name: known[name] for name in _PARAMETER.findall(question.sql)}
        self._name_tables_in(question.sql)
        return question.asked(self._connection, named, days=days)

    def arrivals_ms(self) -> tuple[int | None, int | None]:
        """When the first and the latest message in the lake arrived; without any, ``None``."""
        what = "min(first_received_ms), max(last_received_ms)"
        sql = f"select {what} from daily where first_received_ms <= $asked_at_ms"
        ((first_ms, last_ms),) = self._executed(sql, {"asked_at_ms": self.asked_at_ms}).fetchall()
        return first_ms, last_ms

    def final_outcomes(self) -> int:
        """Of how many messages the lake has the final outcome; what was made up is no message.

        0 until all of them are counted by day, too.
        """
        sql = (
            "select count(distinct id) filter (source_topic != $made_up)"
            " * (count(distinct id) <= (select sum(parsed + empty + parked) from daily))::int"
            " from parsed where outcome in ('parsed', 'empty', 'parked')"
        )
        ((found,),) = self._executed(sql, {"made_up": MADE_UP}).fetchall()
        return int(found or 0)

    def _executed(self, sql: str, parameters: Mapping[str, object]) -> duckdb.DuckDBPyConnection:
        """Run SQL over tables that it names; raises as ``rows_of``."""
        self._name_tables_in(sql)
        return self._connection.execute(sql, parameters)

    def _name_tables_in(self, sql: str) -> None:
        named = set(_WORD.findall(sql)) - self._read
        self._read |= named
        for name in _NAMES.keys() & named:
            self._plan(name, _NAMES[name])
        if "registered" in named:
            self._register()

    def _register(self) -> None:
        path = Path(self._folder.name) / "registered.csv"
        with path.open("w", encoding="utf-8") as file:
            file.writelines(
                f"{one.device_id},{one.device_type},{one.status},{one.gateway_id or ''},"
                f"{one.registered_ms}\n"
                for one in self._registered
            )
        self._connection.execute(_REGISTERED["read"], {"path": str(path)})
        path.unlink()
        self._connection.execute(_REGISTERED["count"])

    def _plan(self, name: str, table: LakeTable) -> None:
        since, where = day_of(self.asked_at_ms - HISTORY_DAYS * DAY_MS), None
        if name in _KEPT:
            where = f"arrival_ms >= {self.asked_at_ms - _ARRIVED_WITHIN_MS}"
        is_whole = table is DAILY or name in _KEPT
        rows = rows_of(self._lake, table, since=None if is_whole else since, where=where)
        name_rows(self._connection, f"all_of_{name}", rows)
        columns = _BELIEVED if table is RECEIVED else "*"
        condition = _OF_FLEET if "device_id" in table.column_names else "true"
        self._connection.execute(
            f"create view {name} as select {columns} from all_of_{name}"
            f" where {condition} and {where or 'true'}"
        )

    def __exit__(self, *_: object) -> None:
        self._connection.close()
        self._folder.cleanup()


def rows_of(lake: Lake, table: LakeTable, *, since: date | None, where: str | None = None) -> Rows:
    """A table's rows, at least those of the days from ``since`` on ``where`` a condition holds.

    Raises ``LakeMissingError`` or ``RowsDeletedBesideError``, as ``planned_table``.
    """
    if isinstance(lake, LaptopLake):
        return lake.rows(table, since=since)
    # Not above: pyiceberg takes seconds to import, which nobody at a laptop should wait for.
    from operations.fleet.tables import day_since, planned_table  # noqa: PLC0415

    conditions = [where, None if since is None else day_since(since)]
    return planned_table(lake, table, where=" and ".join(filter(None, conditions)) or None)


def name_rows(connection: duckdb.DuckDBPyConnection, name: str, rows: Rows) -> None:
    """Let DuckDB's queries name them."""
    if isinstance(rows, str):
        connection.execute(f"create view {name} as from {rows}")
    else:
        connection.register(name, rows)
