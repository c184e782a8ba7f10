"""``fleetlane device erase``: one device's data removed from wherever it can be."""

from typing import Annotated

import typer

from clients.s3.upkeep_requests import Upkeep
from fleetlane.cli.commands.lake import PatienceOption, ask_lake
from fleetlane.cli.options.selection import WholeDeviceId
from fleetlane.cli.options.stage import PlatformOptions
from fleetlane.cli.output.waiting import counted, number_of
from fleetlane.events.names import checked_device_id
from fleetlane.events.overrides import DeviceOverride, Overrides, Restriction
from fleetlane.events.times import DAY_MS, now_ms
from fleetlane.events.topics import (
    FLEET_ALERTS,
    FLEET_PARSED,
    FLEET_RECEIVED,
    PARKED,
    topic_settings,
)
from operations.devices.erasure import DeviceTraces, delete_bodies, traces_of
from operations.devices.stores import DeviceStores


def erase(
    device_id: WholeDeviceId,
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Erase; without this, only list.")] = False,
    wait: PatienceOption = 600,
    where: PlatformOptions,
) -> None:
    """Remove a device from the registry, its rows from the lake, and its large bodies from S3.

    Lists what is found, and what remains until when. Repeating it is safe, and finds what was still
    in transit. From then on the device is refused.
    """
    checked_device_id(device_id)
    platform = where.platform_with_kafka()
    devices, messages = platform.devices, platform.messages

    with counted("records read") as on_read:
        traces = traces_of(device_id, messages.records(on_read))
    _show_found(device_id, devices, traces)
    if not yes:
        typer.echo("nothing was erased: add --yes")
        return
    _erase_device(device_id, devices)
    with counted("objects deleted") as on_deleted:
        delete_bodies(
            traces,
            landed=messages.landed_bodies,
            parked=messages.parked_bodies,
            on_deleted=on_deleted,
        )
    typer.echo("bodies in S3: deleted")
    ask_lake(platform, Upkeep.ERASE, wait_s=wait, device_id=device_id)
    _show_remaining(traces)


def _show_found(device_id: str, devices: DeviceStores, traces: DeviceTraces) -> None:
    is_registered = devices.registry.is_there(device_id)
    typer.echo(f"registry: {'registered' if is_registered else 'not registered'}")
    overrides = devices.overrides.read()
    is_overridden = device_id in overrides.devices or device_id in overrides.device_rate_limits
    typer.echo(f"overrides: {'some' if is_overridden else 'none'}")
    bodies = len(traces.landed) + len(traces.parked)
    typer.echo(f"bodies in S3: at most {number_of(bodies, 'object')}")
    for topic, records in traces.records.items():
        typer.echo(f"{topic}: {number_of(records, 'record')}")


def _erase_device(device_id: str, devices: DeviceStores) -> None:
    """Functions see the registry's change late; until then an override refuses the device."""
    at_ms = now_ms()
    refused = DeviceOverride(status=Restriction.REVOKED, until_ms=at_ms + DAY_MS)

    def changed(present: Overrides) -> Overrides:
        return present.with_rate_limits(None, device_id=device_id).restricted([device_id], refused)

    devices.overrides.change(changed, now_ms=at_ms)
    devices.registry.remove(device_id)
    typer.echo("registry: removed; an override with its id refuses it for a day")


def _show_remaining(traces: DeviceTraces) -> None:
    parked = traces.records.get(PARKED, 0)
    raw = [topic for topic in traces.records if topic != PARKED]
    typer.echo("what remains:")
    for topic in (*raw, "canonical.*", FLEET_RECEIVED, FLEET_PARSED, FLEET_ALERTS):
        days = topic_settings(topic).retention_ms // DAY_MS
        typer.echo(f"  {topic}: up to {days} days, then Kafka drops it")
    if parked:
        typer.echo(f"  {PARKED}: {number_of(parked, 'record')}, kept as long as the topic exists")
    typer.echo("  receipts: hashes without its id, up to 7 days")
    typer.echo(
        "  older versions of the lake's tables: five days, a hundred commits; see docs/lake.md"
    )
    typer.echo(
        "  what is in the spool or not parsed yet reaches the topics later: erase again in a day"
    )
