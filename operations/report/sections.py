"""What the page consists of: headlines, and sections of a sentence, a chart and its numbers."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from operations.report.charts import Chart
from operations.report.tables import Table
from operations.report.wording import number

ROWS_MAX: Final = 15
"""How many rows of devices, parsers and the like a table shows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Headline:
    """A number for the first glance; one that ``is_notable`` is marked ``worth a look``."""

    value: str
    label: str
    meaning: str
    is_notable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownTable:
    """A table's first ``rows_max`` rows; ``command`` prints all. Collapsed unless ``is_open``."""

    table: Table[Any]
    command: str = ""
    rows_max: int = ROWS_MAX
    is_open: bool = False

    @property
    def texts(self) -> Iterator[list[str]]:
        for row in self.table.rows[: self.rows_max]:
            yield [text(row) for text in self.table.columns.values()]

    @property
    def left_out(self) -> str:
        more = len(self.table.rows) - self.rows_max
        return f"{number(more)} more: {self.command}" if more > 0 else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """``answer`` is what was found, ``meaning`` how it is counted."""

    key: str
    title: str
    answer: str
    meaning: str
    chart: Chart | None = None
    tables: tuple[ShownTable, ...] = ()
    is_wide: bool = False
