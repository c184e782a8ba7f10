"""``fleetlane parser diff``: compares two versions of a parser on real messages."""

import json
from collections.abc import Mapping
from typing import Annotated

import msgspec
import typer

from fleetlane.cli.commands.parser.compared_messages import Wanted, messages_from, subject_from
from fleetlane.cli.commands.parser.subject import FlowOption, LaneOption
from fleetlane.cli.options.checkout import uv_program
from fleetlane.cli.options.stage import PlatformOptions
from fleetlane.cli.output.parser_results import counts_of, difference_line, summary_line
from fleetlane.events.flows.files import flow_at
from fleetlane.parsers.testkit.differences import Difference, difference
from fleetlane.parsers.testkit.parser_process import ParserProcess
from fleetlane.parsers.testkit.sites import Sites


def diff(
    old: Annotated[
        str,
        typer.Argument(metavar="OLD", help="name==version, an artifact (.zip), or a folder."),
    ],
    new: Annotated[str, typer.Argument(metavar="NEW", help="Likewise.")],
    more_files: Annotated[
        list[str] | None, typer.Argument(metavar="[FILE]...", help="More files of messages.")
    ] = None,
    *,
    sources: Annotated[
        list[str],
        typer.Option(
            "--from",
            metavar="FILE|parked|raw",
            help="Messages: bytes, records (.record.json, .records.jsonl), or the"
            " topics of a running platform.",
        ),
    ],
    parser: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="The parser to compare, if an artifact or folder offers several."
        ),
    ] = None,
    flow: FlowOption = None,
    stream: Annotated[
        str | None,
        typer.Option(
            metavar="STREAM", help="Only records of this stream.", show_default="the flow's"
        ),
    ] = None,
    limit: Annotated[
        int, typer.Option(min=1, help="The most messages to compare; of topics, the latest.")
    ] = 1000,
    lane: LaneOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document.")] = False,
    where: PlatformOptions,
) -> None:
    """Compare two versions of a parser on real messages.

    Each version runs in a process of its own, with the flow's options.
    """
    wanted = Wanted(
        flow=None if flow is None else flow_at(flow),
        stream=stream,
        parser=parser,
        where=where,
    )
    messages = messages_from([*sources, *(more_files or ())], wanted, messages_max=limit)
    trials, pair = list(messages.values()), []
    with Sites(uv=uv_program()) as sites:
        for subject in [subject_from(spec, sites, wanted, lane) for spec in (old, new)]:
            with ParserProcess(subject) as process:
                pair.append(process.outcomes(trials))
    differences = map(difference, *pair)
    _print(dict(zip(messages, differences, strict=True)), as_json=as_json)


def _print(found: Mapping[str, Difference], *, as_json: bool) -> None:
    if as_json:
        document = {"messages": msgspec.to_builtins(found), "summary": counts_of(found)}
        typer.echo(json.dumps(document, indent=2))
        return
    for name, one in found.items():
        typer.echo(difference_line(name, one))
    typer.echo(summary_line(found))
