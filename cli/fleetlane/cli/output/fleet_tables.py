"""How answers about the fleet are printed: tables for people, JSON and CSV for programs."""

import csv
import dataclasses
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from typing import Annotated, Any

import typer

from fleetlane.events.errors import FleetlaneError

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Rows of one kind. ``columns`` are what a person sees of each row, by heading."""

    name: str
    title: str
    row: type[Any]
    rows: Sequence[Any]
    columns: Mapping[str, Callable[[Any], str]]


def chosen_format(*, as_json: bool, as_csv: bool) -> Format:
    """Raises ``TwoFormatsError`` where both are wanted."""
    if as_json and as_csv:
        raise TwoFormatsError
    return Format.JSON if as_json else Format.CSV if as_csv else Format.TABLE


def show(answers: Sequence[Answer], wanted: Format, *, asked_at_ms: int) -> None:
    """Print the answers, the most important first."""
    match wanted:
        case Format.JSON:
            document = {one.name: [_record(row) for row in one.rows] for one in answers}
            typer.echo(json.dumps({"asked_at_ms": asked_at_ms, **document}))
        case Format.CSV:
            _write_csv(answers[0])
        case Format.TABLE:
            for one in answers:
                _print_table(one)


def _record(row: Any) -> dict[str, object]:
    """A row's fields, and what it reckons of them."""
    return {name: _plain(getattr(row, name)) for name in _names(type(row))}


def _names(row: type[Any]) -> list[str]:
    reckoned = [name for name, value in vars(row).items() if isinstance(value, property)]
    return [*(field.name for field in dataclasses.fields(row)), *reckoned]


def _plain(value: object) -> object:
    return value.isoformat() if isinstance(value, date) else value


def _write_csv(answer: Answer) -> None:
    writer = csv.DictWriter(sys.stdout, _names(answer.row), lineterminator="\n")
    writer.writeheader()
    writer.writerows(_record(row) for row in answer.rows)


def _print_table(answer: Answer) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title=answer.title, title_justify="left", title_style="bold")
    for place, heading in enumerate(answer.columns):
        table.add_column(heading, justify="left" if place == 0 else "right", no_wrap=place == 0)
    for row in answer.rows:
        table.add_row(*(cell(row) for cell in answer.columns.values()))
    Console().print(table)
