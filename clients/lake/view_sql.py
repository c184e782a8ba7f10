"""A stream's view as SQL, for each engine that reads the lake.

Engines disagree on what fits a type: one makes 2 of 1.5, another 12 of "12". So a value is taken
out as JSON text first, and its text says whether it fits. What does not is null.
"""

from enum import StrEnum
from typing import Final

from fleetlane.events.lake.tables import EVENTS, NAMESPACE
from fleetlane.events.lake.views import DataColumn, Kind, LakeView, OwnColumn

_WHOLE: Final = "^-?[0-9]+$"
_TIME: Final = (
    "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})$"
)
"""RFC 3339, as ``format`` date-time asks for, in capitals."""


class Engine(StrEnum):
    """What reads the lake by SQL."""

    ATHENA = "athena"
    DUCKDB = "duckdb"


def create_view(view: LakeView, engine: Engine) -> str:
    """The statement that makes the view, or makes it anew, beside the lake's tables."""
    return f"create or replace view {NAMESPACE}.{view.name} as\n{select(view, engine)}"


def select(view: LakeView, engine: Engine) -> str:
    """What the view is of: every event of its stream, typed."""
    dialect = _DIALECTS[engine]
    data = [(f"value_{at}", column) for at, column in enumerate(view.data, start=1)]
    sources = ", ".join(column.source for column in view.own)
    values = [f"{_extracted(column, dialect)} as {value}" for value, column in data]
    typed = [(_typed(column, value, dialect), column.name) for value, column in data]
    columns = [*((dialect.own(column), column.name) for column in view.own), *typed]
    return (
        f"select{_lines([f'{sql} as "{name}"' for sql, name in columns], by=2)}\n"
        f"from (\n"
        f"  select{_lines([sources, *values], by=4)}\n"
        f"  from (\n"
        f"    select {sources}, {dialect.document} as document\n"
        f"    from {EVENTS.identifier} where stream = {_literal(view.stream)}\n"
        f"  ) parsed\n"
        f") extracted"
    )


class _Athena:
    """What engines write differently.

    ``text`` is a value of ``document`` as JSON text, ``string`` one without what JSON writes around
    it, ``time`` what RFC 3339 says, in UTC.
    """

    document = "try(json_parse(data))"

    def own(self, column: OwnColumn) -> str:
        if column.kind is Kind.TIME:
            return f"cast(from_unixtime({column.source} / 1e3, 'UTC') as timestamp(3))"
        if column.kind is Kind.INTEGER:
            return f"cast({column.source} as bigint)"
        return column.source

    def text(self, path: tuple[str, ...]) -> str:
        return f"json_format(json_extract(document, {self._path(path)}))"

    def string(self, path: tuple[str, ...]) -> str:
        return f"json_extract_scalar(document, {self._path(path)})"

    def matches(self, value: str, pattern: str) -> str:
        return f"regexp_like({value}, {_literal(pattern)})"

    def time(self, value: str) -> str:
        return f"try(cast(from_iso8601_timestamp({value}) at time zone 'UTC' as timestamp(3)))"

    def _path(self, path: tuple[str, ...]) -> str:
        return _literal("$" + "".join(f'["{name}"]' for name in path))


class _DuckDb:
    """As ``_Athena``."""

    document = "try_cast(data as json)"

    def own(self, column: OwnColumn) -> str:
        return f"epoch_ms({column.source})" if column.kind is Kind.TIME else column.source

    def text(self, path: tuple[str, ...]) -> str:
        return f"cast(json_extract(document, {self._path(path)}) as varchar)"

    def string(self, path: tuple[str, ...]) -> str:
        return f"json_extract_string(document, {self._path(path)})"

    def matches(self, value: str, pattern: str) -> str:
        return f"regexp_matches({value}, {_literal(pattern)})"

    def time(self, value: str) -> str:
        return f"try_cast({value} as timestamptz) at time zone 'UTC'"

    def _path(self, path: tuple[str, ...]) -> str:
        return _literal("$" + "".join(f'."{name}"' for name in path))


type _Dialect = _Athena | _DuckDb

_DIALECTS: Final[dict[Engine, _Dialect]] = {Engine.ATHENA: _Athena(), Engine.DUCKDB: _DuckDb()}


def athena_type(kind: Kind) -> str:
    """How Athena names a column's type."""
    return _ATHENA_TYPES.get(kind, "varchar")


_ATHENA_TYPES: Final = {
    Kind.BOOLEAN: "boolean",
    Kind.DATE: "date",
    Kind.INTEGER: "bigint",
    Kind.NUMBER: "double",
    Kind.TIME: "timestamp(3)",
}


def _extracted(column: DataColumn, dialect: _Dialect) -> str:
    text = dialect.text(column.path)
    if column.kind not in (Kind.TEXT, Kind.TIME):
        return text
    return f"case when {text} like '\"%' then {dialect.string(column.path)} end"


def _typed(column: DataColumn, value: str, dialect: _Dialect) -> str:
    """``value`` is JSON text, or a string where the column holds one, or null."""
    number = f"try_cast({value} as double)"
    match column.kind:
        case Kind.BOOLEAN:
            return f"case {value} when 'true' then true when 'false' then false end"
        case Kind.INTEGER:
            return (
                f"case when {dialect.matches(value, _WHOLE)} then try_cast({value} as bigint)"
                f" when {number} = floor({number}) then try_cast({number} as bigint) end"
            )
        case Kind.NUMBER:
            return number
        case Kind.TIME:
            upper = f"upper({value})"
            return f"case when {dialect.matches(upper, _TIME)} then {dialect.time(upper)} end"
        case Kind.JSON:
            return f"nullif({value}, 'null')"
        case _:
            return value


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _lines(columns: list[str], *, by: int) -> str:
    new_line = "\n" + " " * by
    return new_line + f",{new_line}".join(columns)
