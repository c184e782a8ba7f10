"""How the rows of a view are printed: a table for people, JSON and CSV for programs."""

import csv
import json
import sys
from datetime import UTC, date, datetime
from typing import Final, Literal

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from fleetlane.cli.output.fleet_tables import Format
from fleetlane.cli.output.record_text import escaped
from fleetlane.events.lake.views import DataColumn, Kind, OwnColumn
from operations.fleet.newest_events import ViewRows

_OWN_SHOWN: Final = ("arrived_at", "device_id", "event_at")
"""What a person sees of the columns that every view has."""

_TO_THE_RIGHT: Final = (Kind.INTEGER, Kind.NUMBER)


def show_rows(found: ViewRows, wanted: Format, *, asked_at_ms: int) -> None:
    names = [column.name for column in found.view.columns]
    records = [dict(zip(names, map(_plain, row), strict=True)) for row in found.rows]
    match wanted:
        case Format.JSON:
            typer.echo(json.dumps({"asked_at_ms": asked_at_ms, found.view.stream: records}))
        case Format.CSV:
            writer = csv.DictWriter(sys.stdout, names, lineterminator="\n")
            writer.writeheader()
            writer.writerows(records)
        case Format.TABLE:
            _print_table(found, records)


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return value.replace(tzinfo=UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return value.isoformat() if isinstance(value, date) else value


def _print_table(found: ViewRows, records: list[dict[str, object]]) -> None:
    own = {column.name: column for column in found.view.own}
    columns: list[OwnColumn | DataColumn] = [*(own[name] for name in _OWN_SHOWN), *found.view.data]
    title = f"{found.view.stream}, by arrival, the newest first"
    table = Table(title=title, title_justify="left", title_style="bold")
    for column in columns:
        justify: Literal["left", "right"] = "right" if column.kind in _TO_THE_RIGHT else "left"
        table.add_column(column.name, justify=justify, overflow="fold")
    for record in records:
        values = (record[column.name] for column in columns)
        table.add_row(*(Text("" if one is None else escaped(str(one))) for one in values))
    Console().print(table)
