"""``fleetlane fleet``: how much of the fleet is heard, who is silent, late, broken."""

import time
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Annotated

import typer

from fleetlane.cli.commands.device.options import DeviceId
from fleetlane.cli.commands.fleet import answers as fleet_answers
from fleetlane.cli.options.selection import DaysOption
from fleetlane.cli.options.stage import DataOption, StageOption, platform_of
from fleetlane.cli.output.fleet_tables import CsvOption, JsonOption, chosen_format, show
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.names import checked_device_id
from operations.fleet.fleet import Fleet
from operations.report.page import write_report


class DeviceUnheardOfError(FleetlaneError):
    """Neither the registry nor the lake knows a device."""

    reason = "device_unheard_of"
    device_id: str
    days: int
    sentence = "device {device_id} is not registered, nor heard in {days} days"


def coverage(
    *,
    by_day: Annotated[
        bool, typer.Option("--by-day", help="Each of the last 30 days, too.")
    ] = False,
    as_json: JsonOption = False,
    as_csv: CsvOption = False,
    stage: StageOption = None,
    data: DataOption = None,
) -> None:
    """How many registered devices were heard in 1, 2 and 7 days.

    What a gateway brings does not count as its device's own.
    """
    wanted = chosen_format(as_json=as_json, as_csv=as_csv)
    with _fleet(stage, data) as fleet:
        answers = fleet_answers.coverage(fleet, by_day=by_day)
        show(answers, wanted, asked_at_ms=fleet.asked_at_ms)


def silent(
    *,
    days: DaysOption = 7,
    as_json: JsonOption = False,
    as_csv: CsvOption = False,
    stage: StageOption = None,
    data: DataOption = None,
) -> None:
    """Registered devices that sent nothing themselves; who fell silent last comes first."""
    wanted = chosen_format(as_json=as_json, as_csv=as_csv)
    with _fleet(stage, data) as fleet:
        show(fleet_answers.silent(fleet, days=days), wanted, asked_at_ms=fleet.asked_at_ms)


def late(
    *,
    days: DaysOption = 7,
    over_minutes: Annotated[int, typer.Option(min=1, help="From what lag a message is late.")] = 60,
    share: Annotated[
        float, typer.Option(min=0.01, max=1, help="Which share of its messages must be late.")
    ] = 0.5,
    as_json: JsonOption = False,
    as_csv: CsvOption = False,
    stage: StageOption = None,
    data: DataOption = None,
) -> None:
    """Devices that are chronically late, and all messages by their lag."""
    wanted = chosen_format(as_json=as_json, as_csv=as_csv)
    with _fleet(stage, data) as fleet:
        over_ms = over_minutes * 60_000
        answers = fleet_answers.late(fleet, days=days, over_ms=over_ms, share_min=share)
        show(answers, wanted, asked_at_ms=fleet.asked_at_ms)


def sizes(
    *,
    days: DaysOption = 7,
    as_json: JsonOption = False,
    as_csv: CsvOption = False,
    stage: StageOption = None,
    data: DataOption = None,
) -> None:
    """Messages by their size, and how far streams are compressed."""
    wanted = chosen_format(as_json=as_json, as_csv=as_csv)
    with _fleet(stage, data) as fleet:
        show(fleet_answers.sizes(fleet, days=days), wanted, asked_at_ms=fleet.asked_at_ms)


def health(
    *,
    days: DaysOption = 7,
    as_json: JsonOption = False,
    as_csv: CsvOption = False,
    stage: StageOption = None,
    data: DataOption = None,
) -> None:
    """Malformed messages by firmware, and parsers by their time."""
    wanted = chosen_format(as_json=as_json, as_csv=as_csv)
    with _fleet(stage, data) as fleet:
        show(fleet_answers.health(fleet, days=days), wanted, asked_at_ms=fleet.asked_at_ms)


def device(
    device_id: DeviceId,
    *,
    days: DaysOption = 30,
    as_json: JsonOption = False,
    as_csv: CsvOption = False,
    stage: StageOption = None,
    data: DataOption = None,
) -> None:
    """What one device sent, day by day, and the gaps in what it declared."""
    checked_device_id(device_id)
    wanted = chosen_format(as_json=as_json, as_csv=as_csv)
    with _fleet(stage, data) as fleet:
        answers = fleet_answers.device(fleet, device_id, days=days)
        if not any(answer.rows for answer in answers):
            raise DeviceUnheardOfError(device_id, days)
        show(answers, wanted, asked_at_ms=fleet.asked_at_ms)


def report(
    *,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", dir_okay=False, help="The page.")
    ] = Path("fleet-report.html"),
    stage: StageOption = None,
    data: DataOption = None,
) -> None:
    """Write all of it as one HTML page, which loads nothing and needs no script."""
    with _fleet(stage, data) as fleet:
        write_report(fleet, output)
    typer.echo(f"written to {output}")


def _fleet(stage: str | None, data: Path | None) -> AbstractContextManager[Fleet]:
    """The fleet of a platform as of now; raises as ``platform_of`` and ``Platform.fleet``."""
    return platform_of(stage, data).fleet(asked_at_ms=int(time.time() * 1000))
