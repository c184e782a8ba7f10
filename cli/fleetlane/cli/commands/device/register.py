"""``fleetlane device``: registering devices, and signing as them."""

from pathlib import Path
from typing import Annotated

import typer

from clients.device_api import DeviceKey
from clients.devices.registry import DeviceStatus, RegisteredDevice
from fleetlane.cli.commands.device.keys import DeviceKeys
from fleetlane.cli.options.selection import BadOptionsError, DeviceId, WholeDeviceId, file_option
from fleetlane.cli.options.stage import PlatformOptions
from fleetlane.cli.output.tables import escaped
from fleetlane.events import canary
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.names import NAME_PATTERN, checked_device_id
from fleetlane.events.times import now_ms
from operations.devices.bulk_import import public_jwk
from operations.devices.canary import enrolled
from operations.endpoints import LOCAL_STAGE

PublicKeyOption = Annotated[
    Path | None,
    file_option(
        metavar="FILE",
        help="The device's own public key, as PEM or JWK: P-256 or Ed25519. Tokens name it by its"
        " kid: the JWK's own, else its RFC 7638 thumbprint.",
    ),
]


class DeviceExistsError(FleetlaneError):
    """A device of this id is there already."""

    device_id: str
    sentence = "device {device_id} exists already: --replace gives it a new key"


def add(
    device_id: WholeDeviceId,
    *,
    device_type: Annotated[
        str | None,
        typer.Option(
            "--type",
            help=f"Its device type: {NAME_PATTERN}",
            show_default="generic, or what it had",
        ),
    ] = None,
    public_key: PublicKeyOption = None,
    gateway: Annotated[
        str | None, typer.Option(metavar="ID", help="The gateway that may send its messages.")
    ] = None,
    replace: Annotated[
        bool, typer.Option(help="Replace a device's keys; what is not given stays.")
    ] = False,
    where: PlatformOptions,
) -> None:
    """Register a device.

    Without --public-key a key pair (Ed25519) is made, and the private key stored here.
    """
    checked_device_id(device_id)
    stores = where.platform().devices
    keys, (jwk, private) = DeviceKeys(where.folder, where.stage), _key(public_key, where.stage)
    is_kept = private is not None and keys.path(device_id).exists()
    present = stores.registry.find(device_id)
    if not replace and (is_kept or present is not None):
        raise DeviceExistsError(device_id)

    status = DeviceStatus.ACTIVE if present is None else present.status
    device = RegisteredDevice(
        device_id=device_id,
        device_type=device_type or ("generic" if present is None else present.device_type),
        status=status,
        keys=(jwk,),
        gateway_id=gateway or (None if present is None else present.gateway_id),
        attributes={} if present is None else present.attributes,
        registered_ms=now_ms() if present is None else present.registered_ms,
    )
    seen = stores.sightings.find(device_id)
    stores.registry.register(device)
    if seen is not None:
        stores.sightings.note(seen)
    named = f"registered device {device_id} of type {device.device_type}, key {jwk['kid']}"
    typer.echo(escaped(named))
    if status is not DeviceStatus.ACTIVE:
        typer.echo(f"it stays {status}, until `fleetlane device release {device_id}`")
    if private is not None:
        typer.echo(f"private key: {keys.write(device_id, private)}")


def attributes(
    device_id: DeviceId,
    given: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME=VALUE", help="Like site=ulm.", show_default="none any more"),
    ] = None,
    *,
    where: PlatformOptions,
) -> None:
    """Set what a device's events may take along, in place of what they took before.

    Those that its flow names are in each event of a message that comes a minute later.
    """
    pairs = [one.partition("=") for one in given or ()]
    if not all(equals for _, equals, _ in pairs):
        raise BadOptionsError("an attribute is NAME=VALUE, like site=ulm")
    devices = where.platform().devices
    known = {name: value for name, _, value in pairs}
    devices.registry.set_attributes(devices.named(device_id), known)


def enroll_canary(*, where: PlatformOptions) -> None:
    """Give the canary of a stage a new key.

    The private key goes into a parameter of the stage that only the canary's function reads; the
    key before stays valid until the next time.
    """
    platform = where.platform()
    if platform.is_laptop:
        problem = "the platform on this machine makes its canary's key itself: give --stage"
        raise BadOptionsError(problem)
    key = enrolled(platform.registry, platform.canary_key, now_ms=now_ms())
    typer.echo(f"enrolled device {canary.DEVICE_ID}, key {key.kid}")


def rotate(
    device_id: DeviceId,
    *,
    public_key: PublicKeyOption = None,
    remove: Annotated[
        str | None, typer.Option(metavar="KID", help="Instead: remove this key.")
    ] = None,
    where: PlatformOptions,
) -> None:
    """Add a second key; the first stays valid until it is removed.

    A device may have two. Let it sign with the new one; the authorizer's log then names that key.
    Then remove the old one: --remove KID. Without --public-key a key pair is made, and its
    private key replaces the one that is stored here.
    """
    stores = where.platform().devices
    device_id = stores.named(device_id)
    if remove is not None:
        device = stores.registry.remove_key(device_id, remove)
        typer.echo(_keys_line(device))
        return
    jwk, private = _key(public_key, where.stage)
    device = stores.registry.add_key(device_id, jwk)
    if private is not None:
        keys = DeviceKeys(where.folder, where.stage)
        typer.echo(f"private key: {keys.write(device_id, private)}")
    typer.echo(_keys_line(device))
    if len(device.keys) > 1:
        old = next(key["kid"] for key in device.keys if key["kid"] != jwk["kid"])
        hint = f"once it signs with the new one: device rotate {device_id} --remove {old}"
        typer.echo(escaped(hint))


def token(
    device_id: DeviceId,
    *,
    minutes: Annotated[int, typer.Option(min=1, max=24 * 60, help="The token's lifetime.")] = 60,
    where: PlatformOptions,
) -> None:
    """Print a token for the HTTP API, and nothing else.

    For curl: -H "Authorization: Bearer $(./fleetlane device token ID)"
    """
    typer.echo(DeviceKeys(where.folder, where.stage).token(device_id, lifetime_s=minutes * 60))


def _key(given: Path | None, stage: str | None) -> tuple[dict[str, str], DeviceKey | None]:
    """The public key to register, and the private one where the pair was made here."""
    if given is not None:
        return public_jwk(given.read_text(errors="replace")), None
    if stage not in (None, LOCAL_STAGE):
        problem = "a stage's device makes its own keys: give its public one by --public-key"
        raise BadOptionsError(problem)
    made = DeviceKey.generate()
    return made.public_jwk, made


def _keys_line(device: RegisteredDevice) -> str:
    names = ", ".join(key["kid"] for key in device.keys)
    return escaped(f"device {device.device_id} may sign with: {names}")
