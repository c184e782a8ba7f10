"""``fleetlane parser deploy``: an artifact to where flows find it."""

from pathlib import Path
from typing import Annotated

import typer

from fleetlane.cli.options.stage import DataOption, StageOption, platform_of
from fleetlane.events.flows.artifacts import read_manifest


def deploy(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE.zip", dir_okay=False, exists=True, help="The artifact."),
    ],
    *,
    owner: Annotated[str, typer.Option(metavar="TEAM", help="The owner of the flows it is for.")],
    stage: StageOption = None,
    data: DataOption = None,
) -> None:
    """Put an artifact where its owner's flows find it. It never changes there.

    Nothing uses it before a flow that names one of its parsers is published.
    """
    key = platform_of(stage, data).publisher.parsers.deploy(file, owner=owner)
    manifest = read_manifest(file, artifact=str(file))
    typer.echo(f"{key}: flows of {owner} may use {', '.join(manifest.uses)}")
