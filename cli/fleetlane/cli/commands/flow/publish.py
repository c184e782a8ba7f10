"""``fleetlane flow publish``: flows into force, and the version before back into force."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fleetlane.cli.commands.flow.check import flows_of, report_on, show
from fleetlane.cli.commands.flow.publishing import BucketOption, FunctionOption, publisher_for
from fleetlane.cli.options.data import DataOption
from fleetlane.events.errors import FleetlaneError

if TYPE_CHECKING:
    from operations.flows.publisher import FlowPublisher


class TwoWishesError(FleetlaneError):
    """What is to be in force was said twice."""

    reason = "two_wishes"
    sentence = "say what is to be in force once: a FOLDER, --rollback, or --version"


def publish(  # noqa: PLR0913 - each is an option of the command
    folder: Annotated[
        Path | None,
        typer.Argument(
            metavar="FOLDER",
            file_okay=False,
            exists=True,
            help="Of the flow files.",
            show_default="./flows",
        ),
    ] = None,
    *,
    rollback: Annotated[
        bool, typer.Option("--rollback", help="The version that was in force before.")
    ] = False,
    version: Annotated[
        str | None, typer.Option(metavar="V", help="A version that was published before.")
    ] = None,
    only: Annotated[
        bool, typer.Option("--only", help="These flows and no others: all owners' go.")
    ] = False,
    wait: Annotated[
        bool, typer.Option("--wait/--no-wait", help="Until gateway and jobs have read them.")
    ] = True,
    data: DataOption = None,
    bucket: BucketOption = None,
    function: FunctionOption = None,
) -> None:
    """Check flows, publish them, and put them into force.

    They replace all flows of their owners; those of other owners stay. Exit code 1 says that they
    are refused: what was in force stays.
    """
    if sum((folder is not None, rollback, version is not None)) > 1:
        raise TwoWishesError
    publisher = publisher_for(data=data, bucket=bucket, function=function)
    if rollback:
        version = publisher.roll_back()
    elif version is not None:
        publisher.activate(version)
    else:
        version = _published(folder or Path("flows"), publisher, only=only)
    if wait:
        time.sleep(publisher.in_force_within_s)
    typer.echo(f"flows {version} are in force")


def _published(folder: Path, publisher: "FlowPublisher", *, only: bool) -> str:
    from operations.flows.deployed_parsers import DeployedParsers

    flows, current = flows_of(folder), publisher.current()
    before = () if current is None else current.flows
    with DeployedParsers(publisher) as parsers:
        show(report_on(flows, folder, parsers.location, before=before), folder)
    return (publisher.publish if only else publisher.publish_owners)(flows.values())
