"""The options that say which parked messages are meant."""

from dataclasses import dataclass
from typing import Annotated

import typer

from fleetlane.cli.options.selection import SinceOption, UntilOption
from fleetlane.events.errors import ParkedReason
from fleetlane.events.names import checked_name
from operations.messages.parked import ParkedFilter

Ids = Annotated[
    list[str] | None,
    typer.Argument(metavar="[ID]...", help="Raw ids; without any, all messages."),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ParkedOptions:
    """What parked messages have in common."""

    flow: Annotated[str | None, typer.Option(metavar="STREAM", help="Only of this stream.")] = None
    reason: Annotated[
        ParkedReason | None, typer.Option(help="Only messages parked for this reason.")
    ] = None
    parser: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only of this parser: tank, or tank==1.0.0.")
    ] = None
    since: SinceOption = None
    until: UntilOption = None

    def filter(self, ids: list[str] | None) -> ParkedFilter:
        """Raises ``BadNameError`` where a stream has no such name."""
        return ParkedFilter(
            stream=None if self.flow is None else checked_name(self.flow, kind="stream"),
            reason=self.reason,
            parser=self.parser and self.parser.replace("==", "@"),
            since_ms=self.since,
            until_ms=self.until,
            ids=frozenset(ids or ()),
        )
