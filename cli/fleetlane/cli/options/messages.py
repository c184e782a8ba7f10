"""The options that say whose messages a command is for: of the platform here, or of a stage."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fleetlane.cli.options.checkout import use_checkout
from fleetlane.cli.options.data import running_endpoints
from fleetlane.events.errors import FleetlaneError

if TYPE_CHECKING:
    from operations.messages.stores import MessageStores

BootstrapOption = Annotated[
    str | None,
    typer.Option(
        "--bootstrap-servers",
        metavar="HOSTS",
        help="Of a stage in AWS: its brokers, reached with your credentials.",
        show_default="the platform that runs here",
    ),
]
PayloadBucketOption = Annotated[
    str | None, typer.Option(metavar="NAME", help="Of a stage in AWS: where large bodies land.")
]
ParkedBucketOption = Annotated[
    str | None, typer.Option(metavar="NAME", help="Of a stage in AWS: where parked bodies stay.")
]
LimitOption = Annotated[
    int, typer.Option(min=1, help="More messages than this are refused, all of them.")
]
DryRunOption = Annotated[
    bool, typer.Option("--dry-run", help="Say what would be done, and do nothing.")
]


class PartOfAStageError(FleetlaneError):
    """Not all names of a stage's stores were given."""

    reason = "part_of_a_stage"
    sentence = (
        "a stage in AWS needs --bootstrap-servers, --payload-bucket and --parked-bucket;"
        " without them the platform here is meant"
    )


def message_stores(
    data: Path | None,
    *,
    bootstrap_servers: str | None,
    payload_bucket: str | None,
    parked_bucket: str | None,
) -> "MessageStores":
    """Open the stores of the stage that was named, else of the platform that runs here.

    Raises:
        PartOfAStageError: Only some of the three names were given.
        PlatformNotRunningError: None was given, and no platform runs.
    """
    use_checkout()
    from operations.messages.platform_stores import message_stores_of, message_stores_of_stage

    if bootstrap_servers is None and payload_bucket is None and parked_bucket is None:
        return message_stores_of(running_endpoints(data))
    if bootstrap_servers is None or payload_bucket is None or parked_bucket is None:
        raise PartOfAStageError
    return message_stores_of_stage(
        bootstrap_servers, payload_bucket=payload_bucket, parked_bucket=parked_bucket
    )
