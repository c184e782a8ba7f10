"""``fleetlane team policy``: what a team needs in AWS to publish its own flows and parsers."""

import json
from typing import Annotated

import typer

from fleetlane.cli.options.stage import PlatformOptions
from operations.flows.team_policy import team_policy

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="The owner in its flow files.")]


def policy(name: NameArgument, *, where: PlatformOptions) -> None:
    """Print the IAM policy of a team that publishes flows and parsers.

    With it alone it can change nothing of another team.
    """
    typer.echo(json.dumps(team_policy(name, where.platform().resources), indent=2))
