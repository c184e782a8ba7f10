"""``fleetlane device list|show``: who is registered, and how they are restricted."""

import json
from datetime import UTC, datetime
from itertools import batched, chain
from typing import Annotated, Any

import typer

from clients.devices.registry import DeviceStatus, RegisteredDevice, UnknownDeviceError
from fleetlane.cli.options.selection import DeviceId
from fleetlane.cli.options.stage import PlatformOptions
from fleetlane.cli.output.tables import escaped, print_table
from fleetlane.cli.output.times import TimeOptions
from fleetlane.events.overrides import Overrides
from fleetlane.events.times import MILLIS_MAX, MILLIS_MIN, millis_from_rfc3339, now_ms, time_text

_HEADINGS = ("id", "type", "status", "keys", "registered")
_ROWS_AT_ONCE = 1_000

JsonOption = Annotated[bool, typer.Option("--json", help="JSON, one document a line.")]


def list_devices(
    *,
    status: Annotated[DeviceStatus | None, typer.Option(help="Only those of this status.")] = None,
    device_type: Annotated[
        str | None, typer.Option("--type", help="Only devices of this type.")
    ] = None,
    as_json: JsonOption = False,
    times: TimeOptions,
    where: PlatformOptions,
) -> None:
    """Print the registered devices, in no particular order."""
    devices = where.platform().registry.all(status=status, device_type=device_type)
    if as_json:
        for device in devices:
            typer.echo(json.dumps(_facts(device)))
        return
    batches = batched(devices, _ROWS_AT_ONCE, strict=False)
    for some in chain([next(batches, ())], batches):
        rows = [_row(device, times) for device in some]
        print_table(_HEADINGS, rows, right=["keys"], empty="No such device is registered.")


def _row(device: RegisteredDevice, times: TimeOptions) -> tuple[str, ...]:
    registered = times.ago(device.registered_ms, now_ms())
    names = (device.device_id, device.device_type, device.status.value)
    return *names, str(len(device.keys)), registered


def show(
    device_id: DeviceId, *, as_json: JsonOption = False, times: TimeOptions, where: PlatformOptions
) -> None:
    """Print a device: its keys, its status, when it was last seen, and its overrides.

    "Last seen" is noted at most once a day (UTC), and not for messages that a gateway relays.
    Overrides are in S3: where that does not give them, all else is printed before the error.
    """
    stores = where.platform().devices
    device_id = stores.named(device_id)

    device = stores.registry.find(device_id)
    if device is None:
        raise UnknownDeviceError(device_id)
    sighting = stores.sightings.find(device_id)
    facts = _facts(device)
    facts["last_seen"] = sighting and _time_text(sighting.seen_ms)
    facts["firmware"] = sighting and sighting.firmware
    try:
        facts |= _held(device_id, stores.overrides.read(), at_ms=now_ms())
    finally:
        _print(facts, times, as_json=as_json)


def _print(facts: dict[str, Any], times: TimeOptions, *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(facts))
        return
    for name, value in facts.items():
        at_ms = millis_from_rfc3339(value) if name in _TIMES and value else None
        shown = "-" if value is None else value if at_ms is None else times.exact(at_ms, "seconds")
        text = json.dumps(shown) if isinstance(shown, dict) else escaped(str(shown))
        typer.echo(f"{name:<15} {text}")


_TIMES = ("last_seen", "override_until", "registered")


def _facts(device: RegisteredDevice) -> dict[str, Any]:
    return {
        "device_id": device.device_id,
        "device_type": device.device_type,
        "status": device.status.value,
        "keys": {key["kid"]: key["crv"] for key in device.keys},
        "gateway_id": device.gateway_id,
        "attributes": dict(device.attributes),
        "registered": _time_text(device.registered_ms),
    }


def _held(device_id: str, overrides: Overrides, *, at_ms: int) -> dict[str, Any]:
    override = overrides.devices.get(device_id)
    until_ms = None if override is None else override.until_ms
    rate_limits = overrides.rate_limits_of(device_id, of_stage=None)
    return {
        "override": overrides.restriction(device_id, now_ms=at_ms),
        "override_cause": None if override is None else override.cause,
        "override_stream": None if override is None else override.stream,
        "override_until": None if until_ms is None else _time_text(until_ms),
        "soft_rate_limit": None if rate_limits is None else rate_limits.soft_per_minute,
        "hard_rate_limit": None if rate_limits is None else rate_limits.hard_per_minute,
        "soft_bytes": None if rate_limits is None else rate_limits.soft_bytes_per_minute,
        "hard_bytes": None if rate_limits is None else rate_limits.hard_bytes_per_minute,
    }


def _time_text(at_ms: int) -> str:
    if not MILLIS_MIN <= at_ms <= MILLIS_MAX:
        return time_text(at_ms)
    return datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(timespec="seconds")
