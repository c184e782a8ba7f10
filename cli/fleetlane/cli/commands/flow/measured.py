"""``fleetlane flow slo``, ``canary`` and ``conformance``: what flows did, by the lake."""

from typing import Annotated

import typer

from fleetlane.cli.options.selection import DaysOption
from fleetlane.cli.options.stage import PlatformOptions
from fleetlane.cli.output.fleet_tables import FormatOptions
from fleetlane.events.times import now_ms
from operations.fleet.canaries import canaries_of
from operations.fleet.objectives import OBJECTIVE_DAYS, objectives_of
from operations.lake import conformance_of, fleet_of

StreamArgument = Annotated[str, typer.Argument(metavar="STREAM", help="Of which flow.")]


def slo(
    stream: Annotated[
        str | None, typer.Argument(help="Of one flow.", show_default="all with an objective")
    ] = None,
    *,
    formats: FormatOptions,
    where: PlatformOptions,
) -> None:
    """How flows keep their objectives: messages in time, budget and burn, and the slowest hop.

    Over the last hour, day and 28 days, in whole hours.
    """
    platform = where.platform()
    published = platform.publisher
    flows = published.current().flows if stream is None else [published.check_stream(stream)]
    with fleet_of(platform, asked_at_ms=now_ms()) as fleet:
        found = fleet.ask(objectives_of(flows), days=OBJECTIVE_DAYS, stream=stream)
        formats.show(found, asked_at_ms=fleet.asked_at_ms)


def canary(
    stream: StreamArgument, *, days: DaysOption = 1, formats: FormatOptions, where: PlatformOptions
) -> None:
    """A flow's parser rules with a share beside the rules that other devices have.

    By parked messages, events and time; with what the figures speak for.
    """
    platform = where.platform()
    flow = platform.publisher.check_stream(stream)
    with fleet_of(platform, asked_at_ms=now_ms()) as fleet:
        formats.show(fleet.ask(canaries_of(flow), days=days), asked_at_ms=fleet.asked_at_ms)


def conformance(
    stream: StreamArgument,
    *,
    days: DaysOption = 1,
    sample: Annotated[
        int, typer.Option(min=1, max=100_000, help="Of so many events, taken at random.")
    ] = 10_000,
    formats: FormatOptions,
    where: PlatformOptions,
) -> None:
    """How many of a stream's events are as its schema says, by firmware; and what that lacks."""
    asked_at_ms = now_ms()
    platform = where.platform()
    flow = platform.publisher.check_stream(stream)
    found = conformance_of(platform, flow, asked_at_ms=asked_at_ms, days=days, sample=sample)
    formats.show(found, asked_at_ms=asked_at_ms)
