"""``fleetlane flow list``: the versions of the flows, and which is in force."""

import json
from typing import Annotated

import typer

from fleetlane.cli.options.stage import DataOption, StageOption, platform_of
from fleetlane.events.times import rfc3339


def versions(
    *,
    as_json: Annotated[bool, typer.Option("--json", help="A JSON object a line.")] = False,
    stage: StageOption = None,
    data: DataOption = None,
) -> None:
    """List the versions that were published, the latest first, and say which is in force."""
    store = platform_of(stage, data).publisher.flows
    history = store.history()
    states = {version: f"in force {place} before" for place, version in enumerate(history)}
    if history:
        states[history[0]] = "in force"
    for version, at_ms in sorted(store.versions(), key=lambda one: one[1], reverse=True):
        state, at = states.get(version, ""), rfc3339(at_ms)
        row = {"version": version, "published": at, "state": state}
        typer.echo(json.dumps(row) if as_json else f"{version}  {at}  {state}".rstrip())
