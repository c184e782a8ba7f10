"""The option ``--data``: which platform on this machine a command is for."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fleetlane.cli.options.checkout import use_checkout

if TYPE_CHECKING:
    from operations.endpoints import Endpoints

DataOption = Annotated[
    Path | None,
    typer.Option(
        "--data",
        metavar="DIR",
        file_okay=False,
        help="The platform's data folder.",
        show_default="build/local in the checkout",
    ),
]


def data_folder(given: Path | None) -> Path:
    """The folder that was given, or the checkout's own."""
    use_checkout()
    from local.checkout import DATA

    return DATA if given is None else given.absolute()


def running_endpoints(given: Path | None) -> "Endpoints":
    """Where the platform answers; raises ``PlatformNotRunningError`` where none runs."""
    folder = data_folder(given)
    from local.data_folder import endpoints_of

    return endpoints_of(folder)
