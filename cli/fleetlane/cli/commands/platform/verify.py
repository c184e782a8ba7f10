"""``fleetlane verify``: ten messages through the door, and what became of each."""

from typing import Annotated

import typer

from fleetlane.cli.options.stage import PlatformOptions
from operations.verification import DEADLINE_S, Verification


def verify(
    *,
    minutes: Annotated[
        float, typer.Option(min=0.1, help="How long to wait for all of it together.")
    ] = DEADLINE_S / 60,
    where: PlatformOptions,
) -> None:
    """Send ten messages through every lane, and follow them to the lake, the ledger and the report.

    Each step says what it expects, and what came. Needs the API and the lake, and no broker. Exit
    code 1: a step failed, and the last line says why.
    """
    for line in Verification(platform=where.platform(), deadline_s=60 * minutes).lines():
        typer.echo(line)
