"""``fleetlane flow publish|list``: flows into force, and back; ``team policy``: who else may."""

import json
import time
from pathlib import Path
from typing import Annotated

import typer

from fleetlane.cli.commands.flow.files import flows_of, show
from fleetlane.cli.options.selection import BadOptionsError
from fleetlane.cli.options.stage import PlatformOptions
from fleetlane.cli.output.waiting import number_of
from fleetlane.events.times import rfc3339
from fleetlane.parsers.testkit.flow_checks import checked_flows
from operations.flows.publisher import DeployedParsers, FlowPublisher
from operations.flows.team_policy import team_policy

FolderArgument = Annotated[
    Path | None,
    typer.Argument(
        metavar="FOLDER",
        file_okay=False,
        exists=True,
        help="The folder of flow files.",
        show_default="./flows",
    ),
]


OwnerOption = Annotated[
    str | None, typer.Option(metavar="NAME", help="Of this owner alone; without, of all owners.")
]


def publish(
    folder: FolderArgument = None,
    *,
    rollback: Annotated[
        bool,
        typer.Option(
            "--rollback", help="Go back to the version before; again, to the one before that."
        ),
    ] = False,
    version: Annotated[
        str | None, typer.Option(metavar="V", help="Go back to a published version.")
    ] = None,
    owner: OwnerOption = None,
    only: Annotated[
        bool, typer.Option("--only", help="Remove all other flows, of every owner.")
    ] = False,
    wait: Annotated[
        bool, typer.Option("--wait/--no-wait", help="Wait until API and jobs use them.")
    ] = True,
    where: PlatformOptions,
) -> None:
    """Check flows, publish them, and put them into force.

    They replace all flows of their owners; those of other owners stay. Exit code 1: they
    are refused, and what was in force stays.
    """
    if sum((folder is not None, rollback, version is not None)) > 1:
        raise BadOptionsError("Give exactly one: FOLDER, --rollback or --version")
    if owner is not None and not rollback:
        problem = "--owner goes with --rollback alone: flow files name their owner themselves"
        raise BadOptionsError(problem)
    publisher = where.platform().publisher
    back = 0
    if rollback:
        version, back = publisher.roll_back(owner)
    elif version is not None:
        version = publisher.activate(version)
    else:
        version = _published(folder or Path("flows"), publisher, only=only)
    if wait:
        time.sleep(publisher.in_force_within_s)
    typer.echo(f"flows {version} are in force")
    if back:
        typer.echo(f"{number_of(back, 'version')} back; --version goes to any that is listed")


def _published(folder: Path, publisher: FlowPublisher, *, only: bool) -> str:
    flows, current = flows_of(folder), publisher.current()
    before = () if current is None else current.flows
    with DeployedParsers(publisher) as parsers:
        show(checked_flows(flows, folder, parsers.location, before=before), folder)
    return (publisher.publish if only else publisher.publish_owners)(flows.values())


def versions(
    *,
    owner: OwnerOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
    where: PlatformOptions,
) -> None:
    """List the published versions, the latest first, and which is in force."""
    publisher = where.platform().publisher
    history, published = publisher.flows.history(), publisher.flows.versions()
    if owner is not None:
        history = publisher.flows.current().owners.get(owner, ())
        published = publisher.owned.of(owner).versions()
    states = {
        version: f"{number_of(place, 'version')} back" for place, version in enumerate(history)
    }
    if history:
        states[history[0]] = "in force"
    for version, at_ms in sorted(published, key=lambda one: one[1], reverse=True):
        state, at = states.get(version, ""), rfc3339(at_ms)
        row = {"version": version, "published": at, "state": state}
        typer.echo(json.dumps(row) if as_json else f"{version}  {at}  {state}".rstrip())


NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="The owner in its flow files.")]


def policy(name: NameArgument, *, where: PlatformOptions) -> None:
    """Print the IAM policy of a team that publishes flows and parsers.

    With it alone it can change nothing of another team.
    """
    typer.echo(json.dumps(team_policy(name, where.platform().resources), indent=2))
