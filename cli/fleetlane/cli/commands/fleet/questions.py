"""``fleetlane fleet``: how much of the fleet is heard, who is silent, late, broken."""

from pathlib import Path
from typing import Annotated

import typer

from fleetlane.cli.commands.device.options import DeviceId
from fleetlane.cli.commands.fleet import answers as fleet_answers
from fleetlane.cli.commands.fleet.options import (
    CatalogOption,
    DaysOption,
    DeviceUnheardOfError,
    TableOption,
    fleet_asked,
)
from fleetlane.cli.options.data import DataOption
from fleetlane.cli.output.fleet_tables import CsvOption, JsonOption, chosen_format, show
from fleetlane.events.names import checked_device_id

app = typer.Typer(
    help="Ask the lake and the registry: who is heard, silent, late, broken.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command()
def coverage(
    *,
    by_day: Annotated[
        bool, typer.Option("--by-day", help="Each of the last 30 days, too.")
    ] = False,
    as_json: JsonOption = False,
    as_csv: CsvOption = False,
    table: TableOption = None,
    catalog: CatalogOption = None,
    data: DataOption = None,
) -> None:
    """How many registered devices were heard in 1, 2 and 7 days.

    What a gateway brings does not count as its device's own.
    """
    wanted = chosen_format(as_json=as_json, as_csv=as_csv)
    with fleet_asked(table=table, catalog=catalog, data=data) as fleet:
        answers = fleet_answers.coverage(fleet, by_day=by_day)
        show(answers, wanted, asked_at_ms=fleet.asked_at_ms)


@app.command()
def silent(
    *,
    days: DaysOption = 7,
    as_json: JsonOption = False,
    as_csv: CsvOption = False,
    table: TableOption = None,
    catalog: CatalogOption = None,
    data: DataOption = None,
) -> None:
    """Registered devices that sent nothing themselves; who fell silent last comes first."""
    wanted = chosen_format(as_json=as_json, as_csv=as_csv)
    with fleet_asked(table=table, catalog=catalog, data=data) as fleet:
        show(fleet_answers.silent(fleet, days=days), wanted, asked_at_ms=fleet.asked_at_ms)


@app.command()
def late(  # noqa: PLR0913 - each is an option of the command
    *,
    days: DaysOption = 7,
    over_minutes: Annotated[int, typer.Option(min=1, help="From what lag a message is late.")] = 60,
    share: Annotated[
        float, typer.Option(min=0.01, max=1, help="Which share of its messages must be late.")
    ] = 0.5,
    as_json: JsonOption = False,
    as_csv: CsvOption = False,
    table: TableOption = None,
    catalog: CatalogOption = None,
    data: DataOption = None,
) -> None:
    """Devices that are chronically late, and all messages by their lag."""
    wanted = chosen_format(as_json=as_json, as_csv=as_csv)
    with fleet_asked(table=table, catalog=catalog, data=data) as fleet:
        over_ms = over_minutes * 60_000
        answers = fleet_answers.late(fleet, days=days, over_ms=over_ms, share_min=share)
        show(answers, wanted, asked_at_ms=fleet.asked_at_ms)


@app.command()
def sizes(
    *,
    days: DaysOption = 7,
    as_json: JsonOption = False,
    as_csv: CsvOption = False,
    table: TableOption = None,
    catalog: CatalogOption = None,
    data: DataOption = None,
) -> None:
    """Messages by their size, and how far streams are compressed."""
    wanted = chosen_format(as_json=as_json, as_csv=as_csv)
    with fleet_asked(table=table, catalog=catalog, data=data) as fleet:
        show(fleet_answers.sizes(fleet, days=days), wanted, asked_at_ms=fleet.asked_at_ms)


@app.command()
def health(
    *,
    days: DaysOption = 7,
    as_json: JsonOption = False,
    as_csv: CsvOption = False,
    table: TableOption = None,
    catalog: CatalogOption = None,
    data: DataOption = None,
) -> None:
    """Malformed messages by firmware, and parsers by their time."""
    wanted = chosen_format(as_json=as_json, as_csv=as_csv)
    with fleet_asked(table=table, catalog=catalog, data=data) as fleet:
        show(fleet_answers.health(fleet, days=days), wanted, asked_at_ms=fleet.asked_at_ms)


@app.command()
def device(  # noqa: PLR0913 - each is an option of the command
    device_id: DeviceId,
    *,
    days: DaysOption = 30,
    as_json: JsonOption = False,
    as_csv: CsvOption = False,
    table: TableOption = None,
    catalog: CatalogOption = None,
    data: DataOption = None,
) -> None:
    """What one device sent, day by day, and the gaps in what it declared."""
    checked_device_id(device_id)
    wanted = chosen_format(as_json=as_json, as_csv=as_csv)
    with fleet_asked(table=table, catalog=catalog, data=data) as fleet:
        answers = fleet_answers.device(fleet, device_id, days=days)
        if not any(answer.rows for answer in answers):
            raise DeviceUnheardOfError(device_id, days)
        show(answers, wanted, asked_at_ms=fleet.asked_at_ms)


@app.command()
def report(
    *,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", dir_okay=False, help="The page.")
    ] = Path("fleet-report.html"),
    table: TableOption = None,
    catalog: CatalogOption = None,
    data: DataOption = None,
) -> None:
    """Write all of it as one HTML page, which loads nothing and needs no script."""
    with fleet_asked(table=table, catalog=catalog, data=data) as fleet:
        from operations.report.page import write_report

        write_report(fleet, output)
    typer.echo(f"written to {output}")
