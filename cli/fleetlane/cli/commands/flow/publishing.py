"""The options that say where to publish: the platform on this machine, or a stage in AWS."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fleetlane.cli.options.checkout import use_checkout
from fleetlane.cli.options.data import running_endpoints
from fleetlane.events.errors import FleetlaneError

if TYPE_CHECKING:
    from clients.flows.store import FlowStore
    from operations.flows.publisher import FlowPublisher

BucketOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Of a stage in AWS: where its flows and artifacts are.",
        show_default="the platform that runs here",
    ),
]
FunctionOption = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Of a stage in AWS: what puts flows into force."),
]


class HalfAStageError(FleetlaneError):
    """Only one of a stage's names was given."""

    reason = "half_a_stage"
    sentence = "a stage in AWS has both: give --bucket and --function"


def store_for(*, data: Path | None, bucket: str | None) -> "FlowStore":
    """Where versions are; raises ``PlatformNotRunningError`` where none is named, and none runs."""
    if bucket is None:
        return publisher_for(data=data, bucket=None, function=None).flows
    use_checkout()
    from clients.aws import AwsSettings, s3_client
    from clients.flows.store import FlowStore

    return FlowStore(s3_client(AwsSettings()), bucket)


def publisher_for(
    *, data: Path | None, bucket: str | None, function: str | None
) -> "FlowPublisher":
    """Publish to the platform that runs here, or to a stage.

    Raises:
        PlatformNotRunningError: None runs here, and no stage was named.
        HalfAStageError: A stage was named by half.
    """
    if (bucket is None) is not (function is None):
        raise HalfAStageError
    if bucket is not None and function is not None:
        use_checkout()
        from operations.flows.publishing import stage_publisher

        return stage_publisher(bucket, function)
    endpoints = running_endpoints(data)
    from operations.flows.publishing import publisher_at

    return publisher_at(endpoints)
