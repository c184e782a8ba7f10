"""The options that say which parked messages are meant."""

from typing import Annotated

import typer

from fleetlane.events.errors import ParkedReason
from fleetlane.events.names import checked_name
from operations.messages.parked import ParkedFilter

Ids = Annotated[
    list[str] | None,
    typer.Argument(metavar="[ID]...", help="Raw ids; without any, all messages."),
]
FlowOption = Annotated[str | None, typer.Option(metavar="STREAM", help="Only of this stream.")]
ReasonOption = Annotated[
    ParkedReason | None, typer.Option(help="Only messages parked for this reason.")
]
ParserOption = Annotated[
    str | None, typer.Option(metavar="NAME", help="Only of this parser: tank, or tank==1.0.0.")
]


def parked_filter(
    ids: list[str] | None,
    *,
    flow: str | None,
    reason: ParkedReason | None,
    parser: str | None,
    since: int | None,
    until: int | None,
) -> ParkedFilter:
    """What the options mean together; raises ``BadNameError`` where a stream has no such name."""
    return ParkedFilter(
        stream=None if flow is None else checked_name(flow, kind="stream"),
        reason=reason,
        parser=parser and parser.replace("==", "@"),
        since_ms=since,
        until_ms=until,
        ids=frozenset(ids or ()),
    )
