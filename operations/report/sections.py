"""What the page consists of: sections, each an answer in words, a chart, and its numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from operations.report.charts import Chart
from operations.report.columns import Columns
from operations.report.wording import number

ROWS_MAX: Final = 15
"""How many rows of devices, parsers and the like a table shows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Headline:
    """A number for the first glance. ``is_notable`` is said to be worth a look."""

    value: str
    label: str
    meaning: str
    is_notable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class NumbersTable:
    """A table. Its first columns are words, those from ``figures_from`` on are numbers.

    One that is not ``is_open`` waits behind its caption until somebody wants it.
    """

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    figures_from: int = 1
    left_out: str = ""
    is_open: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """``answer`` is what was found, ``meaning`` how it is counted."""

    key: str
    title: str
    answer: str
    meaning: str
    chart: Chart | None = None
    tables: tuple[NumbersTable, ...] = ()
    is_wide: bool = False


def numbers_table[Row](  # noqa: PLR0913 - a table has as many sides
    caption: str,
    columns: Columns[Row],
    rows: Sequence[Row],
    *,
    rows_max: int = ROWS_MAX,
    command: str = "",
    figures_from: int = 1,
    is_open: bool = False,
) -> NumbersTable:
    """The first ``rows_max`` rows; ``command`` prints them all."""
    more = len(rows) - rows_max
    return NumbersTable(
        caption=caption,
        columns=tuple(columns),
        rows=tuple(tuple(cell(row) for cell in columns.values()) for row in rows[:rows_max]),
        figures_from=figures_from,
        left_out=f"{number(more)} more: {command}" if more > 0 else "",
        is_open=is_open,
    )
