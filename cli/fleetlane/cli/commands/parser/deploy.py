"""``fleetlane parser deploy``: an artifact to where flows find it."""

from pathlib import Path
from typing import Annotated

import typer

from fleetlane.cli.options.stage import PlatformOptions
from fleetlane.events.flows.artifacts import read_manifest


def deploy(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE.zip", dir_okay=False, exists=True, help="The artifact."),
    ],
    *,
    owner: Annotated[str, typer.Option(metavar="TEAM", help="The owner of the flows it is for.")],
    where: PlatformOptions,
) -> None:
    """Put an artifact where its owner's flows find it. It never changes there.

    Nothing uses it before a flow that names one of its parsers is published.
    """
    key = where.platform().publisher.parsers.deploy(file, owner=owner)
    manifest = read_manifest(file, artifact=str(file))
    typer.echo(f"{key}: flows of {owner} may use {', '.join(manifest.uses)}")
