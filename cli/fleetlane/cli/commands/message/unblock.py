"""``fleetlane unblock``: skips or retries the message that a halted flow waits for."""

from typing import Annotated

import typer

from clients.s3.blocked_messages import blocking_topics
from fleetlane.cli.options.stage import PlatformOptions
from fleetlane.cli.output.tables import escaped
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.names import NAME_PATTERN, checked_name


class NothingBlockedError(FleetlaneError):
    """No message of a stream waits for an answer."""

    stream: str
    sentence = "no message blocks stream {stream!r}"


def unblock(
    stream: Annotated[str, typer.Argument(help=f"The stream: {NAME_PATTERN}")],
    *,
    skip: Annotated[
        bool | None,
        typer.Option("--skip/--retry", help="Park the message and continue, or retry it."),
    ] = None,
    at: Annotated[
        str | None, typer.Option(metavar="TOPIC/PARTITION/OFFSET", help="Only this message.")
    ] = None,
    where: PlatformOptions,
) -> None:
    """Show what blocks a stream, and skip or retry it."""
    checked_name(stream, kind="stream")
    messages = where.platform().blocked_messages

    found = (one for topic in blocking_topics(stream) for one in messages.waiting(topic))
    waiting = [one for one in found if at in {None, f"{one.topic}/{one.partition}/{one.offset}"}]
    if not waiting:
        raise NothingBlockedError(stream)
    for one in waiting:
        if skip is not None:
            (messages.skip if skip else messages.retry)(one)
        typer.echo(escaped(f"{_DONE[skip]} {one}"))
    typer.echo(_NEXT[skip], err=True)


_DONE = {None: "waits", True: "skipped", False: "tried again"}
_NEXT = {
    None: "use --at, as shown, with --skip to park it, or --retry once its parser is fixed",
    True: "the job parks it within a few seconds, and the flow continues",
    False: "the job retries it within a few seconds; if it fails, it waits again",
}
