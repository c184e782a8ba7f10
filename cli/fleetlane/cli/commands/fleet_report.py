"""``fleetlane fleet report``: what is known of the fleet, on one page."""

from pathlib import Path
from typing import Annotated

import typer

from fleetlane.cli.options.stage import PlatformOptions
from fleetlane.events.times import now_ms
from operations.lake import fleet_of
from operations.report.page import write_report


def report(
    *,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", dir_okay=False, help="The page.")
    ] = Path("fleet-report.html"),
    where: PlatformOptions,
) -> None:
    """Write the fleet report: one HTML page, which loads nothing and needs no script."""
    with fleet_of(where.platform(), asked_at_ms=now_ms()) as fleet:
        write_report(fleet, output)
    typer.echo(f"written to {output}")
