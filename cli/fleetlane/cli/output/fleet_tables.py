"""How answers about the fleet are printed: tables for people, JSON and CSV for programs."""

import csv
import json
import sys
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Final

import typer
from rich.console import Console
from rich.table import Table as RichTable

from fleetlane.cli.options.selection import BadOptionsError
from fleetlane.cli.output.record_text import cell
from operations.fleet.questions import Row, Table

_FORMULA_BEGINS: Final = ("=", "+", "-", "@", "\t", "\r", "\n")

_PUBLISHED_KEYS: Final = {"reported": "heard"}
"""Of columns that are called otherwise here."""

JsonOption = Annotated[bool, typer.Option("--json", help="One JSON document, with all answers.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class FormatOptions:
    """Raises ``BadOptionsError`` where both are wanted; a table for people where none is."""

    as_json: JsonOption = False
    as_csv: Annotated[bool, typer.Option("--csv", help="The first answer's rows, as CSV.")] = False

    def __post_init__(self) -> None:
        if self.as_json and self.as_csv:
            raise BadOptionsError("either --json or --csv can be printed, not both")

    def show(self, *tables: Table, asked_at_ms: int) -> None:
        """Print the tables, the most important first."""
        if self.as_json:
            document = {one.name: [_published(row) for row in one.rows] for one in tables}
            typer.echo(json.dumps({"asked_at_ms": asked_at_ms, **document}, default=date.isoformat))
        elif self.as_csv:
            write_csv(_published(dict.fromkeys(tables[0].keys)), map(_published, tables[0].rows))
        else:
            for one in tables:
                _print_table(one)


def _published(row: Row) -> Row:
    """By its published keys."""
    return {_PUBLISHED_KEYS.get(key, key): value for key, value in row.items()}


def write_csv(names: Collection[str], records: Iterable[Mapping[str, object]]) -> None:
    writer = csv.DictWriter(sys.stdout, names, lineterminator="\n")
    writer.writeheader()
    for one in records:
        writer.writerow({name: _unexecuted(value) for name, value in one.items()})


def _unexecuted(value: object) -> object:
    """Text that a spreadsheet would take for a formula gets an apostrophe before it."""
    is_formula = isinstance(value, str) and value.startswith(_FORMULA_BEGINS)
    return f"'{value}" if is_formula else value


def _print_table(shown: Table) -> None:
    table = RichTable(title=shown.title, title_justify="left", title_style="bold")
    for place, heading in enumerate(shown.columns):
        table.add_column(heading, justify="left" if place == 0 else "right", no_wrap=place == 0)
    for row in shown.rows:
        table.add_row(*(cell(text(row)) for text in shown.columns.values()))
    Console().print(table)
