"""``fleetlane lake view``: a stream's newest events in columns, by its flow's schema."""

import time
from typing import Annotated, Literal

import typer

from clients.flows.store import FlowStore
from clients.lake.view_sql import Engine, create_view
from fleetlane.cli.commands.lake.view_output import show_rows
from fleetlane.cli.options.selection import DaysOption
from fleetlane.cli.options.stage import DataOption, StageOption, platform_of
from fleetlane.cli.output.fleet_tables import JsonOption, chosen_format
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.lake.views import LakeView, view_of
from fleetlane.events.times import DAY_MS
from operations.fleet.fleet import day_of
from operations.fleet.newest_events import ViewRows, newest
from operations.platform import Platform

StreamArgument = Annotated[str, typer.Argument(metavar="STREAM", help="Whose flow has a schema.")]


class NoViewError(FleetlaneError):
    """A stream has no flow in force, or its flow no schema."""

    reason = "no_view"
    stream: str
    problem: str
    sentence = "stream {stream} {problem}: it has no view; see docs/flows.md"


def view(
    stream: StreamArgument,
    *,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="How many events.")] = 20,
    days: DaysOption = 7,
    as_json: JsonOption = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="The events as CSV.")] = False,
    sql: Annotated[
        Literal["athena", "duckdb"] | None,
        typer.Option(help="Print the statement that makes the view, and ask nothing."),
    ] = None,
    stage: StageOption = None,
    data: DataOption = None,
) -> None:
    """Show the newest events of a stream, typed by its flow's schema.

    A value that does not fit its column's type is left out; ``data`` in the table has it.
    """
    wanted = chosen_format(as_json=as_json, as_csv=as_csv)
    platform = platform_of(stage, data)
    described = _view(stream, platform.publisher.flows)
    if sql is not None:
        typer.echo(create_view(described, Engine(sql)))
        return
    asked_at_ms = int(time.time() * 1000)
    since_ms = asked_at_ms - days * DAY_MS
    found = _newest(platform, described, since_ms=since_ms, rows_max=limit)
    show_rows(found, wanted, asked_at_ms=asked_at_ms)


def _view(stream: str, flows: FlowStore) -> LakeView:
    flow = flows.current().by_stream.get(stream)
    if flow is None:
        raise NoViewError(stream, "has no flow in force")
    described = view_of(flow)
    if described is None:
        raise NoViewError(stream, "declares no schema")
    return described


def _newest(platform: Platform, described: LakeView, *, since_ms: int, rows_max: int) -> ViewRows:
    with platform.lake() as catalog:
        return newest(catalog, described, since=day_of(since_ms), rows_max=rows_max)
