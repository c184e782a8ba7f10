"""``fleetlane parked replay``: parked messages once more through the bulk lane."""

from typing import Annotated

import typer

from fleetlane.cli.commands.message.replay import REPLAYED_MAX, carry_out
from fleetlane.cli.commands.parked.list_and_show import Ids, ParkedOptions
from fleetlane.cli.options.selection import DryRunOption, LimitOption
from fleetlane.cli.options.stage import PlatformOptions
from fleetlane.cli.output.counting import counted
from operations.replay.plans import parked_plan


def replay_parked(
    ids: Ids = None,
    *,
    chosen: ParkedOptions,
    again: Annotated[
        bool,
        typer.Option("--again", help="Include messages parsed since: their events are replaced."),
    ] = False,
    dry_run: DryRunOption = False,
    limit: LimitOption = REPLAYED_MAX,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document.")] = False,
    where: PlatformOptions,
) -> None:
    """Send parked messages through the bulk lane, to the parser that is in force now.

    Ids stay the same, so replaying twice duplicates no event. Messages also stay parked. Exit
    code 1: some could not be replayed.
    """
    stores = where.platform().messages

    wanted = chosen.filter(ids)
    with counted("records read") as on_read:
        plan = parked_plan(
            stores.records(on_read),
            stores.payloads,
            wanted,
            includes_parsed=again,
            messages_max=limit,
        )
    carry_out(plan, stores, dry_run=dry_run, as_json=as_json)
