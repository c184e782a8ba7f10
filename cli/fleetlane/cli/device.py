"""``fleetlane device``: devices of one's own, to send as."""

import time
from typing import Annotated, ClassVar

import typer

from fleetlane.cli.data import DataOption, data_folder, running_endpoints
from fleetlane.cli.device_keys import DeviceKeys
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.names import DEVICE_ID_PATTERN, NAME_PATTERN, checked_device_id

app = typer.Typer(
    help="Register devices, and sign their tokens.", no_args_is_help=True, rich_markup_mode=None
)

DeviceId = Annotated[str, typer.Argument(metavar="ID", help=f"Its id: {DEVICE_ID_PATTERN}")]


class DeviceExistsError(FleetlaneError):
    """A device of this id is there already."""

    reason: ClassVar[str] = "device_exists"

    def __init__(self, device_id: str) -> None:
        super().__init__(device_id)
        self.device_id = device_id

    def __str__(self) -> str:
        return f"device {self.device_id} exists already: --replace gives it a new key"


@app.command("add")
def add(
    device_id: DeviceId,
    *,
    device_type: Annotated[
        str, typer.Option("--type", metavar="TYPE", help=f"Its device type: {NAME_PATTERN}")
    ] = "generic",
    replace: Annotated[
        bool, typer.Option("--replace", help="Register it anew where it exists; its old key goes.")
    ] = False,
    data: DataOption = None,
) -> None:
    """Make a key pair (Ed25519), register the public key, and keep the private one here."""
    checked_device_id(device_id)
    keys = DeviceKeys(data_folder(data))
    endpoints = running_endpoints(data)
    from clients.device_registry import RegisteredDevice
    from local.fleet.credentials import DeviceKey
    from local.registry import registry_of

    registry = registry_of(endpoints)
    exists = keys.path(device_id).exists() or registry.find(device_id) is not None
    if exists and not replace:
        raise DeviceExistsError(device_id)
    key = DeviceKey.generate()
    registry.register(
        RegisteredDevice(
            device_id=device_id,
            device_type=device_type,
            keys=(key.public_jwk,),
            registered_ms=int(time.time() * 1000),
        )
    )
    path = keys.write(device_id, key)
    typer.echo(f"registered device {device_id} of type {device_type}, key {key.kid}")
    typer.echo(f"private key: {path}")


@app.command("token")
def token(
    device_id: DeviceId,
    *,
    minutes: Annotated[
        int, typer.Option(min=1, max=24 * 60, help="How long the token is good for.")
    ] = 60,
    data: DataOption = None,
) -> None:
    """Print a token for the HTTP API, and nothing else.

    For curl: -H "Authorization: Bearer $(./fleetlane device token ID)"
    """
    key = DeviceKeys(data_folder(data)).read(device_id)
    typer.echo(key.token(device_id, now_s=int(time.time()), lifetime_s=minutes * 60))
