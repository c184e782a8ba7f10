"""``fleetlane flow publish|list``: flows into force, and back; ``team policy``: who else may."""

import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from fleetlane.cli.commands.flow.files import flows_argument, flows_of, show
from fleetlane.cli.commands.flow.preview import DeployedParsers, newest_of, preview_lines
from fleetlane.cli.options.selection import BadOptionsError, DryRunOption
from fleetlane.cli.options.stage import PlatformOptions
from fleetlane.cli.output.tables import escaped
from fleetlane.cli.output.times import TimeOptions
from fleetlane.cli.output.waiting import counted, effect_on_interrupt, number_of
from fleetlane.events.flows.files import PublishedFlows
from fleetlane.events.flows.flow import FlowSet
from fleetlane.events.times import now_ms, rfc3339
from fleetlane.parsers.testkit.flow_checks import checked_flows
from operations.flows.publisher import FlowPublisher
from operations.flows.team_policy import team_policy
from operations.platform import Platform

_DETAILED_MAX: Final = 10

OwnerOption = Annotated[
    str | None, typer.Option(metavar="NAME", help="Of this owner alone; without, of all owners.")
]


def publish(
    folder: Annotated[Path | None, flows_argument("./flows")] = None,
    *,
    rollback: Annotated[
        bool, typer.Option(help="Go back to the version before; again, to the one before that.")
    ] = False,
    version: Annotated[
        str | None, typer.Option(metavar="V", help="Go back to a published version.")
    ] = None,
    owner: OwnerOption = None,
    only: Annotated[bool, typer.Option(help="Remove all other flows, of every owner.")] = False,
    yes: Annotated[bool, typer.Option(help="Publish without a question.")] = False,
    dry_run: DryRunOption = False,
    wait: Annotated[bool, typer.Option(help="Wait until API and jobs use them.")] = True,
    where: PlatformOptions,
) -> None:
    """Check flows, publish them, and put them into force.

    They replace all flows of their owners; those of other owners stay. On a terminal it shows
    first what that would change, for real messages too, and asks. Exit code 1: they are refused,
    and what was in force stays.
    """
    _check(folder, version, owner, rollback=rollback, of_folder=only or dry_run)
    platform, flows = where.platform(), None
    publisher, effects = platform.publisher, ["nothing changed: what was in force stays"]
    with effect_on_interrupt(lambda: effects[-1]):
        if not rollback and version is None:
            shows = dry_run or (sys.stdin.isatty() and sys.stdout.isatty())
            flows = _checked(folder or Path("flows"), platform, only=only, shows=shows)
            if dry_run:
                return
            if shows and not yes:
                typer.confirm("publish?", abort=True)
        effects.append("it may be in force: `fleetlane flow list` says it")
        with counted("putting flows into force"):
            back = 0
            if flows is not None:
                publishes = publisher.publish if only else publisher.publish_owners
                version = publishes(flows.values())
            elif version is None:
                version, back = publisher.roll_back(owner)
            else:
                version = publisher.activate(version)
        effects.append(f"flows {version} are in force, and used in {publisher.in_force_within_s} s")
        if wait:
            with counted("waiting until API and jobs use them"):
                time.sleep(publisher.in_force_within_s)
    typer.echo(f"flows {version} are in force")
    send_lineage_of(platform)
    if back:
        typer.echo(f"{number_of(back, 'version')} back; --version goes to any that is listed")


def send_lineage_of(platform: Platform) -> None:
    """Where OpenLineage has settings; whatever becomes of it, the flows are in force."""
    name = "openlineage.yml"
    files = (Path(name), Path.home() / ".openlineage" / name)
    names = os.environ  # noqa: TID251 - where its client looks
    if any(one.startswith("OPENLINEAGE") for one in names) or any(one.exists() for one in files):
        from operations.flows.openlineage import LineageNotSentError, send_lineage  # noqa: PLC0415

        try:
            sent = send_lineage(platform.publisher.current(), platform.resources)
            typer.echo(f"lineage of {number_of(sent, 'flow')} was sent")
        except LineageNotSentError as problem:
            typer.echo(escaped(str(problem)), err=True)


def _check(
    folder: Path | None, version: str | None, owner: str | None, *, rollback: bool, of_folder: bool
) -> None:
    """Raises ``BadOptionsError``; ``of_folder``: an option of a folder's flows is given."""
    if sum((folder is not None, rollback, version is not None)) > 1:
        raise BadOptionsError("Give exactly one: FOLDER, --rollback or --version")
    if owner is not None and not rollback:
        problem = "--owner goes with --rollback alone: flow files name their owner themselves"
        raise BadOptionsError(problem)
    if of_folder and (rollback or version is not None):
        raise BadOptionsError("--dry-run and --only go with FOLDER alone")


def _checked(folder: Path, platform: Platform, *, only: bool, shows: bool) -> FlowSet:
    """The folder's flows, which have no problem; ``shows`` what publishing them would change."""
    publisher, flows = platform.publisher, flows_of(folder)
    before = publisher.current().by_stream
    with DeployedParsers(publisher) as parsers:
        with counted("checking flows and their parsers"):
            report = checked_flows(flows, folder, parsers.location, before=before.values())
        show(report, folder)
        if shows:
            owners = {flow.owner for flow in flows.values()}
            kept = {} if only else {s: f for s, f in before.items() if f.owner not in owners}
            with counted("comparing with real messages"):
                after, newest = kept | dict(flows), newest_of(platform)
                lines = list(preview_lines(before, after, parsers.location, newest))
            typer.echo("\n".join(map(escaped, lines)))
    return flows


def versions(
    *,
    owner: OwnerOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
    times: TimeOptions,
    where: PlatformOptions,
) -> None:
    """List the published versions, the latest first, and which is in force.

    Of the newest that are or were in force: owners, their flows and parsers, and who published.
    """
    publisher = where.platform().publisher
    history, published = publisher.flows.history(), publisher.flows.versions()
    if owner is not None:
        history = publisher.current().owners.get(owner, ())
        published = publisher.owned.of(owner).versions()
    parts = {version: publisher.parts(version, owner) for version in history[:_DETAILED_MAX]}
    states = _states(history, parts, publisher)
    rows, asked_ms = sorted(published, key=lambda one: one[1], reverse=True), now_ms()
    if not (rows or as_json):
        typer.echo("No flows were published yet.")
    for version, at_ms in rows:
        state = states.get(version, "")
        owners = [_part(name, part) for name, part in parts.get(version, {}).items()]
        if as_json:
            row = {"version": version, "published": rfc3339(at_ms), "state": state}
            typer.echo(json.dumps({**row, "owners": owners}))
            continue
        typer.echo(f"{version}  {times.ago(at_ms, asked_ms)}  {state}".rstrip())
        for one in owners:
            by = f", by {one['published_by']}" if one["published_by"] else ""
            flows, parsers = (", ".join(one[name]) for name in ("flows", "parsers"))
            typer.echo(escaped(f"  {one['owner']}: {flows} ({parsers}){by}"))


def _states(
    history: Sequence[str],
    parts: Mapping[str, Mapping[str, PublishedFlows]],
    publisher: FlowPublisher,
) -> dict[str, str]:
    """By version: in force, how many versions back, or rolled back."""
    left = publisher.rolled_back({name for of_version in parts.values() for name in of_version})
    states = {}
    for place, version in enumerate(history):
        states[version] = f"{number_of(place, 'version')} back" if place else "in force"
        of_version = parts.get(version, {}) if place else {}
        if any(part.version in left.get(name, ()) for name, part in of_version.items()):
            states[version] = "rolled back"
    return states


def _part(owner: str, part: PublishedFlows) -> dict[str, Any]:
    return {
        "owner": owner,
        "flows": [flow.stream for flow in part.flows],
        "parsers": sorted({rule.use for flow in part.flows for rule in flow.parsers}),
        "published_by": part.published_by,
    }


NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="The owner in its flow files.")]


def policy(name: NameArgument, *, where: PlatformOptions) -> None:
    """Print the IAM policy for a team that publishes flows and parsers.

    It allows no change to another team's.
    """
    typer.echo(json.dumps(team_policy(name, where.platform().resources), indent=2))
