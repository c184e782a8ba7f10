"""The options that say which platform's devices a command is for."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fleetlane.cli.options.checkout import use_checkout
from fleetlane.cli.options.data import running_endpoints
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.names import DEVICE_ID_PATTERN

if TYPE_CHECKING:
    from operations.devices.stores import DeviceStores

DeviceId = Annotated[str, typer.Argument(metavar="ID", help=f"Its id: {DEVICE_ID_PATTERN}")]
DeviceIds = Annotated[list[str], typer.Argument(metavar="ID...", help="One or more ids.")]
TableOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="A stage's registry table; with --bucket. Else the platform here."
    ),
]
BucketOption = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="A stage's artifacts bucket, which holds the overrides."),
]
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


class HalfAStageError(FleetlaneError):
    """One of the two names of a stage's stores is missing."""

    reason = "half_a_stage"
    sentence = "a stage needs both --table and --bucket; without them the platform here is meant"


def device_stores(
    data: Path | None, *, table: str | None = None, bucket: str | None = None
) -> "DeviceStores":
    """Open the stores of the stage that was named, else of the platform that runs here.

    Raises:
        HalfAStageError: Only one of the two names was given.
        PlatformNotRunningError: None was given, and no platform runs.
    """
    use_checkout()
    from operations.devices.stores import DeviceStores

    if table is None and bucket is None:
        return DeviceStores.of_platform(running_endpoints(data))
    if table is None or bucket is None:
        raise HalfAStageError
    return DeviceStores.of_stage(table, bucket)
