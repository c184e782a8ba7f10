"""A stream's view as SQL, for each engine that reads the lake.

Engines disagree on what fits a type: one makes 2 of 1.5, another 12 of "12". So a value is taken
out as JSON text first, and its text says whether it fits. What does not is null.
"""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from importlib.resources import files
from typing import Final

import msgspec

from fleetlane.events.lake.tables import EVENTS, NAMESPACE
from fleetlane.events.lake.views import DataColumn, Kind, LakeView

_WHOLE: Final = "^-?[0-9]+$"
_TIME: Final = (
    "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})$"
)
"""RFC 3339, as ``format`` date-time asks for, in capitals."""


class Engine(StrEnum):
    """What reads the lake by SQL."""

    ATHENA = "athena"
    DUCKDB = "duckdb"


def create_view(view: LakeView, engine: Engine, database: str = NAMESPACE) -> str:
    """The statement that makes the view, or makes it anew, beside the lake's tables."""
    return f"create or replace view {database}.{view.name} as\n{select(view, engine, database)}"


def select(view: LakeView, engine: Engine, database: str = NAMESPACE) -> str:
    """What the view is of: every event of its stream, typed."""
    dialect = _DIALECTS[engine]
    data = [(f"value_{at}", column) for at, column in enumerate(view.data, start=1)]
    sources = ", ".join(column.source for column in view.own)
    values = [f"{_extracted(column, dialect)} as {value}" for value, column in data]
    typed = [(_typed(column, value, dialect), column.name) for value, column in data]
    own = [
        (dialect.own.get(column.kind, "{}").format(column.source), column.name)
        for column in view.own
    ]
    columns = [*own, *typed]
    return (
        f"select{_lines([f'{sql} as "{name}"' for sql, name in columns], by=2)}\n"
        f"from (\n"
        f"  select{_lines([sources, *values], by=4)}\n"
        f"  from (\n"
        f"    select {sources}, {dialect.document} as document\n"
        f"    from {database}.{EVENTS.name} where stream = {_literal(view.stream)}\n"
        f"  ) parsed\n"
        f") extracted"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Dialect:
    """What engines write differently: ``dialects.toml``.

    ``own`` is a column of the lake's table, by its kind; ``text`` a value of ``document``, at a
    path of such ``step``s, as JSON text, ``string`` one without what JSON writes around it,
    ``time`` what RFC 3339 says, in UTC.
    """

    document: str
    own: Mapping[Kind, str]
    step: str
    text: str
    string: str
    matches: str
    time: str

    def at(self, template: str, path: Iterable[str]) -> str:
        return template.format(_literal("$" + "".join(map(self.step.format, path))))


_WRITTEN: Final = files(__package__).joinpath("dialects.toml").read_text(encoding="utf-8")
_DIALECTS: Final = msgspec.convert(tomllib.loads(_WRITTEN), dict[Engine, _Dialect])

ATHENA_TYPES: Final = {
    Kind.BOOLEAN: "boolean",
    Kind.DATE: "date",
    Kind.INTEGER: "bigint",
    Kind.JSON: "varchar",
    Kind.NUMBER: "double",
    Kind.TEXT: "varchar",
    Kind.TIME: "timestamp(3)",
}


def _extracted(column: DataColumn, dialect: _Dialect) -> str:
    text = dialect.at(dialect.text, column.path)
    if column.kind not in (Kind.TEXT, Kind.TIME):
        return text
    return f"case when {text} like '\"%' then {dialect.at(dialect.string, column.path)} end"


def _typed(column: DataColumn, value: str, dialect: _Dialect) -> str:
    """``value`` is JSON text, or a string where the column holds one, or null."""
    number = f"try_cast({value} as double)"
    match column.kind:
        case Kind.BOOLEAN:
            return f"case {value} when 'true' then true when 'false' then false end"
        case Kind.INTEGER:
            is_whole = dialect.matches.format(value, _literal(_WHOLE))
            return (
                f"case when {is_whole} then try_cast({value} as bigint)"
                f" when {number} = floor({number}) then try_cast({number} as bigint) end"
            )
        case Kind.NUMBER:
            return number
        case Kind.TIME:
            upper = f"upper({value})"
            is_time = dialect.matches.format(upper, _literal(_TIME))
            return f"case when {is_time} then {dialect.time.format(upper)} end"
        case Kind.JSON:
            return f"nullif({value}, 'null')"
        case _:
            return value


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _lines(columns: list[str], *, by: int) -> str:
    new_line = "\n" + " " * by
    return new_line + f",{new_line}".join(columns)
