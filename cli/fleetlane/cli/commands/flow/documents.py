"""``fleetlane flow graph|contract|lineage``: flows as documents, for people and for other tools."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Final, Literal

import typer

from fleetlane.cli.commands.flow.files import flows_argument, flows_of
from fleetlane.cli.options.stage import PlatformOptions
from fleetlane.events.flows.files import PublishedFlows
from fleetlane.events.lanes import Lane
from operations.flows.contracts import asyncapi, data_contract
from operations.flows.graph import FlowGraph
from operations.flows.publisher import NoSuchFlowError

FolderArgument = Annotated[Path | None, flows_argument("the flows in force")]

_DRAWN: Final[dict[str, Callable[[FlowGraph], str]]] = {
    "svg": FlowGraph.as_svg,
    "mermaid": FlowGraph.as_mermaid,
    "json": lambda one: _written(one.as_json()),
}
_CONTRACTS: Final = {"asyncapi": asyncapi, "odcs": data_contract}


def graph(
    folder: FolderArgument = None,
    *,
    format_: Annotated[
        Literal["svg", "mermaid", "json"],
        typer.Option("--format", help="A picture, text for one, or data."),
    ] = "svg",
    owner: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Of this owner's flows alone.", show_default="of all"),
    ] = None,
    lane: Annotated[
        Lane | None,
        typer.Option(help="Of the flows of this lane alone.", show_default="of every lane"),
    ] = None,
    where: PlatformOptions,
) -> None:
    """Draw flows: from devices by lanes and parsers to topics and the lake."""
    flows = [
        one
        for one in _flows(folder, where).flows
        if owner in {None, one.owner} and lane in {None, one.lane}
    ]
    typer.echo(_DRAWN[format_](FlowGraph.of(flows)), nl=False)


def contract(
    stream: Annotated[str, typer.Argument(help="The flow's stream.")],
    folder: FolderArgument = None,
    *,
    format_: Annotated[
        Literal["asyncapi", "odcs"], typer.Option("--format", help="AsyncAPI 3.0, or ODCS 3.1.")
    ] = "asyncapi",
    where: PlatformOptions,
) -> None:
    """Write what a flow's readers may rely on: topics, events, owner, how long it is kept."""
    published = _flows(folder, where)
    if stream not in published.by_stream:
        raise NoSuchFlowError(stream, tuple(published.by_stream))
    document = _CONTRACTS[format_](published.by_stream[stream], version=published.version)
    typer.echo(_written(document), nl=False)


def lineage(*, where: PlatformOptions) -> None:
    """Write what each flow in force reads and writes as OpenLineage events, one a line.

    `flow publish` sends them to where OPENLINEAGE_URL or openlineage.yml says.
    """
    from operations.flows.openlineage import lineage_lines  # noqa: PLC0415 - it takes half a second

    platform = where.platform()
    for line in lineage_lines(platform.publisher.current(), platform.resources):
        typer.echo(line)


def _flows(folder: Path | None, where: PlatformOptions) -> PublishedFlows:
    if folder is not None:
        return PublishedFlows.of(flows_of(folder).values())
    return where.platform().publisher.current()


def _written(document: object) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
