"""``fleetlane lake view``: a stream's newest events in columns, by its flow's schema."""

import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from fleetlane.cli.commands.fleet.options import CatalogOption, DaysOption
from fleetlane.cli.commands.flow.publishing import store_for
from fleetlane.cli.commands.lake.view_output import show_rows
from fleetlane.cli.options.data import DataOption, data_folder
from fleetlane.cli.output.fleet_tables import JsonOption, chosen_format
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.lake.views import LakeView, view_of
from fleetlane.events.times import DAY_MS

if TYPE_CHECKING:
    from clients.flows.store import FlowStore
    from operations.fleet.newest_events import ViewRows

StreamArgument = Annotated[str, typer.Argument(metavar="STREAM", help="Whose flow has a schema.")]
FlowsBucketOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="A stage's bucket with its flows; the lake is then that of AWS Glue.",
        show_default="the platform that runs here",
    ),
]


class NoViewError(FleetlaneError):
    """A stream has no flow in force, or its flow no schema."""

    reason = "no_view"
    stream: str
    problem: str
    sentence = "stream {stream} {problem}: it has no view; see docs/flows.md"


def view(  # noqa: PLR0913 - each is an option of the command
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
    flows_bucket: FlowsBucketOption = None,
    catalog: CatalogOption = None,
    data: DataOption = None,
) -> None:
    """Show the newest events of a stream, typed by its flow's schema.

    A value that does not fit its column's type is left out; ``data`` in the table has it.
    """
    wanted = chosen_format(as_json=as_json, as_csv=as_csv)
    described = _view(stream, store_for(data=data, bucket=flows_bucket))
    if sql is not None:
        from clients.lake.view_sql import Engine, create_view

        typer.echo(create_view(described, Engine(sql)))
        return
    asked_at_ms = int(time.time() * 1000)
    lake = catalog or _local_lake(data, flows_bucket)
    found = _newest(described, lake, since_ms=asked_at_ms - days * DAY_MS, rows_max=limit)
    show_rows(found, wanted, asked_at_ms=asked_at_ms)


def _view(stream: str, flows: "FlowStore") -> LakeView:
    flow = flows.current().by_stream.get(stream)
    if flow is None:
        raise NoViewError(stream, "has no flow in force")
    described = view_of(flow)
    if described is None:
        raise NoViewError(stream, "declares no schema")
    return described


def _local_lake(data: Path | None, flows_bucket: str | None) -> Path | None:
    if flows_bucket is not None:
        return None
    folder = data_folder(data)
    from operations.fleet.questions import LAKE_CATALOG

    return folder / LAKE_CATALOG


def _newest(
    described: LakeView, catalog_file: Path | None, *, since_ms: int, rows_max: int
) -> "ViewRows":
    from operations.fleet.fleet import day_of
    from operations.fleet.newest_events import newest
    from operations.fleet.questions import opened_catalog

    with closing(opened_catalog(catalog_file)) as catalog:
        return newest(catalog, described, since=day_of(since_ms), rows_max=rows_max)
