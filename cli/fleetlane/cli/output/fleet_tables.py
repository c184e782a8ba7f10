"""How answers about the fleet are printed: tables for people, JSON and CSV for programs."""

import csv
import json
import sys
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Final

import typer

from fleetlane.cli.options.selection import BadOptionsError
from fleetlane.cli.output.tables import print_table
from fleetlane.cli.output.times import TimeOptions
from fleetlane.events.times import MILLIS_MIN
from operations.fleet.questions import Cell, Row, Table, ValueCell
from operations.fleet.wording import moment_short

_FORMULA_BEGINS: Final = ("=", "+", "-", "@", "\t", "\r", "\n")

_PUBLISHED_KEYS: Final = {"reported": "heard"}
"""Of columns that are called otherwise here."""

_LAST: Final = ("last_ms", "gateway_ms")


@dataclass(frozen=True, slots=True, kw_only=True)
class FormatOptions(TimeOptions):
    """Raises ``BadOptionsError`` where both are wanted; a table for people where none is."""

    as_json: Annotated[bool, typer.Option("--json", help="All answers, one JSON document.")] = False
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
                self._print(one, asked_at_ms)

    def _print(self, shown: Table, asked_at_ms: int) -> None:
        columns = dict(self._column(*one, asked_at_ms) for one in shown.columns.items())
        print_table(
            list(columns),
            [[text(row) for text in columns.values()] for row in shown.rows],
            right=list(columns)[shown.text_columns :],
            title=shown.title,
            empty=shown.empty,
        )

    def _column(self, heading: str, text: Cell, asked_at_ms: int) -> tuple[str, Cell]:
        """Moments as ``TimeOptions`` has them: when something was last, as how long ago."""
        if not (isinstance(text, ValueCell) and text.text is moment_short):
            return heading, text
        key, now_ms = text.key, asked_at_ms if text.key in _LAST else MILLIS_MIN - 1
        heading = heading if self.utc else heading.removesuffix(" (UTC)")
        return heading, lambda row: self.ago(row[key], now_ms)


def _published(row: Row) -> Row:
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
