"""How answers about the fleet are printed: tables for people, JSON and CSV for programs."""

import csv
import dataclasses
import json
import sys
from collections.abc import Sequence
from datetime import date
from enum import StrEnum
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table as RichTable

from fleetlane.events.errors import FleetlaneError
from operations.report.tables import Table

JsonOption = Annotated[bool, typer.Option("--json", help="One JSON document, with all answers.")]
CsvOption = Annotated[bool, typer.Option("--csv", help="The first answer's rows, as CSV.")]


class TwoFormatsError(FleetlaneError):
    """Two formats were asked for at once."""

    reason = "two_formats"
    sentence = "either --json or --csv can be printed, not both"


class Format(StrEnum):
    """What is printed."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"


def chosen_format(*, as_json: bool, as_csv: bool) -> Format:
    """Raises ``TwoFormatsError`` where both are wanted."""
    if as_json and as_csv:
        raise TwoFormatsError
    return Format.JSON if as_json else Format.CSV if as_csv else Format.TABLE


def show(tables: Sequence[Table[Any]], wanted: Format, *, asked_at_ms: int) -> None:
    """Print the tables, the most important first."""
    match wanted:
        case Format.JSON:
            document = {one.name: [_record(one, row) for row in one.rows] for one in tables}
            typer.echo(json.dumps({"asked_at_ms": asked_at_ms, **document}))
        case Format.CSV:
            _write_csv(tables[0])
        case Format.TABLE:
            for one in tables:
                _print_table(one)


def _record(table: Table[Any], row: Any) -> dict[str, object]:
    """A row's fields and properties, by their published names."""
    return {key: _plain(getattr(row, name)) for name, key in _keys(table).items()}


def _keys(table: Table[Any]) -> dict[str, str]:
    computed = [name for name, value in vars(table.row).items() if isinstance(value, property)]
    names = [*(field.name for field in dataclasses.fields(table.row)), *computed]
    return {name: table.keys.get(name, name) for name in names}


def _plain(value: object) -> object:
    return value.isoformat() if isinstance(value, date) else value


def _write_csv(table: Table[Any]) -> None:
    writer = csv.DictWriter(sys.stdout, list(_keys(table).values()), lineterminator="\n")
    writer.writeheader()
    writer.writerows(_record(table, row) for row in table.rows)


def _print_table(shown: Table[Any]) -> None:
    table = RichTable(title=shown.title, title_justify="left", title_style="bold")
    for place, heading in enumerate(shown.columns):
        table.add_column(heading, justify="left" if place == 0 else "right", no_wrap=place == 0)
    for row in shown.rows:
        table.add_row(*(text(row) for text in shown.columns.values()))
    Console().print(table)
