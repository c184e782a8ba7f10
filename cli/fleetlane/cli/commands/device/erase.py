"""``fleetlane device erase``: one device's data removed from wherever it can be."""

from collections.abc import Iterator
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
from fleetlane.events.topics import METADATA_TOPICS, PARKED, topic_settings
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
            landed=messages.landed_bodies.delete,
            parked=messages.parked_bodies.delete,
            on_deleted=on_deleted,
        )
    typer.echo("bodies in S3: deleted")
    ask_lake(platform, Upkeep.ERASE, wait_s=wait, device_id=device_id)
    typer.echo("what remains:")
    for line in remaining(traces, archive_days=platform.resources.raw_archive_days):
        typer.echo(f"  {line}")


def _show_found(device_id: str, devices: DeviceStores, traces: DeviceTraces) -> None:
    typer.echo(f"registry: {'' if devices.registry.is_there(device_id) else 'not '}registered")
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


def remaining(traces: DeviceTraces, *, archive_days: int) -> Iterator[str]:
    """What an erasure leaves behind, and until when."""
    raw = [topic for topic in traces.records if topic != PARKED]
    for topic in (*raw, "canonical.*", "unique.*", *METADATA_TOPICS):
        days = topic_settings(topic).retention_ms // DAY_MS
        yield f"{topic}: up to {days} days, then Kafka drops it"
    if parked := traces.records.get(PARKED, 0):
        yield f"{PARKED}: {number_of(parked, 'record')}, kept as long as the topic exists"
    yield "bodies in S3 whose records Kafka has dropped: up to payload_ttl_days, then S3 does"
    if not archive_days:  # no job writes that table, so none was asked
        yield "rows in the lake's table raw, if there ever was an archive: until it is dropped"
    yield "receipts: hashes without its id, up to 7 days"
    yield "older versions of the lake's tables: five days, a hundred commits; see docs/lake.md"
    yield "what is in the spool or not parsed yet reaches the topics later: erase again in a day"
