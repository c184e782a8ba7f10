"""``fleetlane up``: the whole platform on this machine, until Ctrl-C."""

import threading
import time
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from fleetlane.cli.commands.platform.commands_to_try import commands_to_try
from fleetlane.cli.commands.platform.interruption import sigterm_as_ctrl_c
from fleetlane.cli.options.stage import DataOption, data_folder
from fleetlane.cli.output.steps import StepsShown
from local.data_folder import announced, taken_data_folder
from local.platform import Platform, PlatformSettings
from operations.endpoints import Endpoints


def up(
    *,
    data: DataOption = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Empty the data folder first.")] = False,
) -> None:
    """Start the platform and stay; Ctrl-C stops it.

    The addresses are printed, and written to endpoints.json in the data folder. Whatever dies is
    started again. Data outlives a stop, published flows among it; the checkout's own are put into
    force unless they were before.
    """
    folder = data_folder(data)

    settings = PlatformSettings(folder=folder)
    with taken_data_folder(folder, fresh=fresh), sigterm_as_ctrl_c():
        try:
            with Platform(settings) as platform:
                _run(platform, data)
        except KeyboardInterrupt:
            typer.echo(f"stopped; the data stays in {folder}")


def _run(platform: Platform, data: Path | None) -> None:
    notes = Console(stderr=True)
    with StepsShown(notes) as on_step:
        endpoints = platform.start(on_step)
    folder = platform.settings.folder
    with announced(endpoints, folder):
        flows = platform.flows.values()
        commands = commands_to_try(flows, data, now_millis=int(time.time() * 1000))
        typer.echo(addresses(endpoints))
        typer.echo("\nTry, in another terminal:")
        for command in commands:
            typer.echo(f"  {command}")
        typer.echo("\nThe first message takes longest: Spark is still waking up. Ctrl-C stops it.")
        try:
            platform.keep_running(
                until=threading.Event(),
                on_restart=lambda name: notes.print(f"{name} died; it is started again"),
            )
        finally:
            notes.print("stopping …")


def addresses(endpoints: Endpoints) -> str:
    """The addresses as a small table."""
    rows = {
        "api": endpoints.api,
        "kafka": endpoints.kafka,
        "s3": endpoints.s3,
        "dynamodb": endpoints.dynamodb,
    }
    return "\n".join(f"{name:<10}{address}" for name, address in rows.items())
