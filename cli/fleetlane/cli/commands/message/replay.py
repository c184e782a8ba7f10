"""``fleetlane replay``: what a stream sent in a while, once more, in a new revision."""

from typing import Annotated

import typer

from fleetlane.cli.commands.message.replay_progress import REPLAYED_MAX, carry_out
from fleetlane.cli.options.selection import DryRunOption, LimitOption, moment
from fleetlane.cli.options.stage import PlatformOptions
from fleetlane.cli.output.counting import counted
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.names import checked_name
from fleetlane.events.times import rfc3339
from operations.replay.plans import ArrivalRange, raw_plan


class EmptyRangeError(FleetlaneError):
    """No time lies between the ends that were given."""

    reason = "empty_range"
    from_ms: int
    to_ms: int

    def __str__(self) -> str:
        return f"--to is {rfc3339(self.to_ms)}; it must be after --from, {rfc3339(self.from_ms)}"


def replay(
    *,
    flow: Annotated[str, typer.Option(metavar="STREAM", help="The stream.")],
    from_ms: Annotated[
        int,
        typer.Option(
            "--from",
            metavar="WHEN",
            parser=moment,
            help="2026-11-03T14:05:00Z, or 12h for 12 hours ago.",
        ),
    ],
    to_ms: Annotated[
        int, typer.Option("--to", metavar="WHEN", parser=moment, help="Likewise; exclusive.")
    ],
    dry_run: DryRunOption = False,
    limit: LimitOption = REPLAYED_MAX,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document.")] = False,
    where: PlatformOptions,
) -> None:
    """Parse a stream's messages of a time range again, with the parser in force now.

    Messages go through the slow lane. Their events have the next revision, and replace the earlier
    ones. Exit code 1: some could not be replayed.
    """
    if to_ms <= from_ms:
        raise EmptyRangeError(from_ms, to_ms)
    checked_name(flow, kind="stream")
    stores = where.platform().messages

    wanted = ArrivalRange(stream=flow, from_ms=from_ms, to_ms=to_ms)
    with counted("records read") as on_read:
        plan = raw_plan(stores.records(on_read), stores.payloads, wanted, messages_max=limit)
    carry_out(plan, stores, dry_run=dry_run, as_json=as_json)
