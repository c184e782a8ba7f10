"""``fleetlane why``: one message, from its receipt to its events, or to where it is parked."""

from pathlib import Path
from typing import Annotated

import typer

from fleetlane.cli.options.selection import BadOptionsError, SinceOption
from fleetlane.cli.options.stage import PlatformOptions
from fleetlane.cli.output.times import TimeOptions
from fleetlane.cli.output.trace import trace_json, trace_lines
from fleetlane.cli.output.waiting import counted
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.times import DAY_MS, now_ms
from operations.messages.stores import MessageStores
from operations.messages.trace import MessageTrace, message_trace


def why(
    wanted_id: Annotated[
        str,
        typer.Argument(
            metavar="ID",
            help="A raw id, from the 202, or the id of an event; its beginning is enough.",
        ),
    ],
    *,
    bytes_to: Annotated[
        Path | None,
        typer.Option("--bytes", metavar="FILE", dir_okay=False, help="Write the body to a file."),
    ] = None,
    since: SinceOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document.")] = False,
    times: TimeOptions,
    where: PlatformOptions,
) -> None:
    """Show a message's full history: landings, attempts, parsers, events, parking, bytes.

    Without --since the topics are read whole; of a deployed stage, the last day.
    """
    platform = where.platform_with_kafka(writes="--bytes" if bytes_to else None)
    stores = platform.messages

    if since is None and not platform.is_laptop:
        since = now_ms() - DAY_MS  # a stage's topics hold too much to read them all
    with counted("records read") as on_read:
        trace = message_trace(stores.records(on_read), wanted_id, since_ms=since)
    body, problem = _body(trace, stores)
    if as_json:
        typer.echo(trace_json(trace, body))
    else:
        for line in trace_lines(trace, body, problem, times):
            typer.echo(line)
    if bytes_to is not None:
        if problem is not None:
            raise problem
        bytes_to.write_bytes(body or b"")


def _body(trace: MessageTrace, stores: MessageStores) -> tuple[bytes | None, FleetlaneError | None]:
    message = trace.message
    if message is None:
        return None, BadOptionsError("its record has expired, or is older than --since")
    try:
        return stores.payloads.body_of(message), None
    except FleetlaneError as problem:
        return None, problem
