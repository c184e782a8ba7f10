"""How rows are shown to people, in the report and at the command line; and questions, with SQL."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

from duckdb import DuckDBPyConnection

from operations.fleet.wording import NONE, number, percent

type Row = Mapping[str, Any]
type Cell = Callable[[Row], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows of one kind. ``columns`` give the text of each cell, by heading.

    ``name`` is the table's key in JSON, and ``keys`` are those of its rows, in their published
    order. The first ``text_columns`` hold words, the others numbers. ``empty`` is the sentence that
    is shown instead of no rows.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Question(Table):
    """A table that SQL over the fleet answers: the columns of that are the published keys.

    ``title`` and ``empty`` may name the ``{days}`` that are asked about. ``parameters`` are those
    of the SQL that may be left out.
    """

    sql: str
    parameters: Mapping[str, object] = field(default_factory=dict)

    def asked(
        self, connection: DuckDBPyConnection, parameters: Mapping[str, object], *, days: int
    ) -> Table:
        """The answer to its SQL, which takes ``parameters``."""
        result = connection.execute(self.sql, parameters)
        keys = [column[0] for column in result.description or ()]
        rows = [dict(zip(keys, values, strict=True)) for values in result.fetchall()]
        return self.answered(keys, rows, days=days)

    def answered(self, keys: Sequence[str], rows: Sequence[Row], *, days: int) -> Table:
        title, empty = (text.format(days=days) for text in (self.title, self.empty))
        return replace(self, title=title, empty=empty, keys=keys, rows=rows)


@dataclass(frozen=True, slots=True)
class ValueCell:
    """The text of one value; a dash where there is none."""

    key: str
    text: Callable[[Any], str] = str

    def __call__(self, row: Row) -> str:
        return NONE if row[self.key] is None else self.text(row[self.key])


def cells(text: Callable[[Any], str] = str, /, **headings: str) -> dict[str, Cell]:
    """Columns that are shown alike: their headings, by the keys of their values."""
    return {heading: ValueCell(key, text) for key, heading in headings.items()}


def numbers(**headings: str) -> dict[str, Cell]:
    return cells(number, **headings)


def share(part: str, whole: str) -> Cell:
    """One value as a share of another, in percent."""
    return lambda row: percent(row[part], row[whole])
