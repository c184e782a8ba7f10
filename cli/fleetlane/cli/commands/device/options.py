"""The options that say which platform's devices a command is for."""

from pathlib import Path
from typing import Annotated

import typer

from fleetlane.events.names import DEVICE_ID_PATTERN

DeviceId = Annotated[str, typer.Argument(metavar="ID", help=f"Its id: {DEVICE_ID_PATTERN}")]
DeviceIds = Annotated[list[str], typer.Argument(metavar="ID...", help="One or more ids.")]
PublicKeyOption = Annotated[
    Path | None,
    typer.Option(
        "--public-key",
        metavar="FILE",
        exists=True,
        dir_okay=False,
        help="The device's own public key, as PEM or JWK: P-256 or Ed25519.",
    ),
]
