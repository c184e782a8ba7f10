"""``fleetlane parked replay``: parked messages once more through the slow lane."""

from typing import Annotated

import typer

from fleetlane.cli.commands.message.replay_progress import REPLAYED_MAX, carry_out
from fleetlane.cli.commands.parked.options import (
    FlowOption,
    Ids,
    ParserOption,
    ReasonOption,
    parked_filter,
)
from fleetlane.cli.options.data import DataOption
from fleetlane.cli.options.messages import (
    BootstrapOption,
    DryRunOption,
    LimitOption,
    ParkedBucketOption,
    PayloadBucketOption,
    message_stores,
)
from fleetlane.cli.options.moment import SinceOption, UntilOption
from fleetlane.cli.output.counting import counted


def replay_parked(  # noqa: PLR0913 - each is an option of the command
    ids: Ids = None,
    *,
    flow: FlowOption = None,
    reason: ReasonOption = None,
    parser: ParserOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    again: Annotated[
        bool,
        typer.Option("--again", help="Also what was parsed since: its events are replaced."),
    ] = False,
    dry_run: DryRunOption = False,
    limit: LimitOption = REPLAYED_MAX,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document.")] = False,
    bootstrap_servers: BootstrapOption = None,
    payload_bucket: PayloadBucketOption = None,
    parked_bucket: ParkedBucketOption = None,
    data: DataOption = None,
) -> None:
    """Send parked messages through the slow lane, to the parser that is in force now.

    Ids stay, so that doing it twice makes no event twice. What is parked stays parked, too. Exit
    code 1 says that some could not be replayed.
    """
    stores = message_stores(
        data,
        bootstrap_servers=bootstrap_servers,
        payload_bucket=payload_bucket,
        parked_bucket=parked_bucket,
    )
    from operations.replay.parked import parked_plan

    wanted = parked_filter(ids, flow=flow, reason=reason, parser=parser, since=since, until=until)
    with counted("records read") as on_read:
        plan = parked_plan(
            stores.records(on_read),
            stores.payloads,
            wanted,
            includes_parsed=again,
            messages_max=limit,
        )
    carry_out(plan, stores, dry_run=dry_run, as_json=as_json)
