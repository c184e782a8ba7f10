"""``fleetlane flow slo``: how flows keep their objectives."""

from typing import Annotated

import typer

from fleetlane.cli.options.stage import PlatformOptions
from fleetlane.cli.output.fleet_tables import FormatOptions
from fleetlane.events.times import now_ms
from operations.fleet.objectives import OBJECTIVE_DAYS, objectives_of
from operations.lake import fleet_of


def slo(
    stream: Annotated[
        str | None,
        typer.Argument(metavar="STREAM", help="Of one flow.", show_default="all with an objective"),
    ] = None,
    *,
    formats: FormatOptions,
    where: PlatformOptions,
) -> None:
    """How flows keep their objectives: messages in time, budget and burn, and the slowest hop.

    Over the last hour, day and 28 days, in whole hours.
    """
    platform = where.platform()
    if stream is not None:
        platform.publisher.check_stream(stream)
    flows = platform.publisher.current().flows
    with fleet_of(platform, asked_at_ms=now_ms()) as fleet:
        found = fleet.ask(objectives_of(flows), days=OBJECTIVE_DAYS, stream=stream)
        formats.show(found, asked_at_ms=fleet.asked_at_ms)
