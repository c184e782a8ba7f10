"""``fleetlane flow publish``: flows into force, and the version before back into force."""

import time
from pathlib import Path
from typing import Annotated

import typer

from fleetlane.cli.commands.flow.check import flows_of, report_on, show
from fleetlane.cli.options.stage import DataOption, StageOption, platform_of
from fleetlane.events.errors import FleetlaneError
from operations.flows.deployed_parsers import DeployedParsers
from operations.flows.publisher import FlowPublisher


class TwoWishesError(FleetlaneError):
    """Several versions were named."""

    reason = "two_wishes"
    sentence = "Give exactly one: FOLDER, --rollback or --version"


def publish(
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
    stage: StageOption = None,
    data: DataOption = None,
) -> None:
    """Check flows, publish them, and put them into force.

    They replace all flows of their owners; those of other owners stay. Exit code 1 says that they
    are refused: what was in force stays.
    """
    if sum((folder is not None, rollback, version is not None)) > 1:
        raise TwoWishesError
    publisher = platform_of(stage, data).publisher
    if rollback:
        version = publisher.roll_back()
    elif version is not None:
        publisher.activate(version)
    else:
        version = _published(folder or Path("flows"), publisher, only=only)
    if wait:
        time.sleep(publisher.in_force_within_s)
    typer.echo(f"flows {version} are in force")


def _published(folder: Path, publisher: FlowPublisher, *, only: bool) -> str:
    flows, current = flows_of(folder), publisher.current()
    before = () if current is None else current.flows
    with DeployedParsers(publisher) as parsers:
        show(report_on(flows, folder, parsers.location, before=before), folder)
    return (publisher.publish if only else publisher.publish_owners)(flows.values())
