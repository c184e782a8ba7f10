"""How rows are shown to people, in the report and at the command line; and questions, with SQL."""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files
from typing import Any, Final, Self

from duckdb import DuckDBPyConnection

from fleetlane.events.times import HOUR_MS
from operations.fleet import wording

type Row = Mapping[str, Any]
type Cell = Callable[[Row], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows of one kind. ``columns`` give the text of each cell, by heading.

    ``name`` is the table's key in JSON, and ``keys`` are those of its rows, in their published
    order. The first ``text_columns`` hold words, the others numbers. ``empty`` is the sentence that
    is shown instead of no rows. Both ``title`` and ``empty`` may name what was asked ``about``.
    """

    name: str
    title: str
    columns: Mapping[str, Cell]
    keys: Sequence[str] = ()
    rows: Sequence[Row] = ()
    text_columns: int = 1
    empty: str = ""

    def of(self, rows: Sequence[Row]) -> Self:
        return replace(self, rows=rows)

    def answered(self, keys: Sequence[str], rows: Sequence[Row], **about: object) -> Self:
        title, empty = (text.format(**about) for text in (self.title, self.empty))
        return replace(self, title=title, empty=empty, keys=keys, rows=rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question(Table):
    """A table that SQL over the fleet answers: the columns of that are the published keys.

    Asked about are so many ``{days}``. ``parameters`` are those of the SQL that may be left out.
    ``kept`` is SQL by the names of tables of its rows, which other questions may share.
    """

    sql: str
    parameters: Mapping[str, object] = field(default_factory=dict)
    kept: Mapping[str, str] = field(default_factory=dict)

    def asked(
        self, connection: DuckDBPyConnection, parameters: Mapping[str, object], *, days: int
    ) -> Table:
        """The answer to its SQL, which takes ``parameters``."""
        result = connection.execute(self.sql, parameters)
        keys = [column[0] for column in result.description or ()]
        rows = [dict(zip(keys, values, strict=True)) for values in result.fetchall()]
        return self.answered(keys, rows, days=days)


@dataclass(frozen=True, slots=True)
class ValueCell:
    """The text of one value, or of ``none``."""

    key: str
    text: Callable[[Any], str] = str
    none: str = wording.NONE

    def __call__(self, row: Row) -> str:
        return self.none if row[self.key] is None else self.text(row[self.key])


_WRITTEN: Final = tomllib.loads(
    files(__package__).joinpath("tables.toml").read_text(encoding="utf-8")
)
_TEXTS: Final[Mapping[str, Callable[..., str]]] = {
    "blocks": wording.blocks,
    "duration": wording.duration,
    "hours": lambda hours: wording.duration(hours * HOUR_MS),
    "lag_span": wording.lag_span,
    "last_days": lambda days: "24 hours" if days == 1 else f"{days} days",
    "listed": ", ".join,
    "micros": wording.micros,
    "moment_short": wording.moment_short,
    "number": wording.number,
    "percent": lambda share: wording.percent(share, 1),
    "ratio": wording.ratio,
    "share": wording.percent,
    "share_without": lambda part, whole: wording.percent(whole - part, whole),
    "size": wording.size,
    "size_span": wording.size_span,
    "tenths": "{:.1f}".format,
    "text": str,
    "yes_or_no": lambda value: "yes" if value else "no",
}


def table(name: str, **own: Any) -> Table:
    """The table that ``tables.toml`` describes, with what it leaves open."""
    return Table(name=name, **_described(name) | own)


def question(name: str, sql: str, **own: Any) -> Question:
    """The same, answered by SQL."""
    return Question(name=name, sql=sql, **_described(name) | own)


def _described(name: str) -> dict[str, Any]:
    written: dict[str, Any] = _WRITTEN[name]
    return written | {"columns": {at: _cell(one) for at, one in written["columns"].items()}}


def _cell(written: str | Mapping[str, Any]) -> Cell:
    if isinstance(written, str):
        return ValueCell(written)
    (name, of), *none = written.items()
    text = _TEXTS[name]
    if isinstance(of, str):
        return ValueCell(of, text, *(word for _, word in none))
    return lambda row: text(*(row[key] for key in of))
