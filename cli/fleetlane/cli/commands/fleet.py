"""``fleetlane fleet``: coverage, and which devices are silent, late or malformed."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Annotated, Any

import typer

from fleetlane.cli.options.selection import DaysOption, DeviceId
from fleetlane.cli.options.stage import PlatformOptions
from fleetlane.cli.output.fleet_tables import FormatOptions
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.names import checked_device_id
from fleetlane.events.times import now_ms
from operations.fleet import devices, traffic
from operations.fleet.fleet import Fleet
from operations.lake import fleet_of
from operations.report import tables


class UnknownToFleetError(FleetlaneError):
    """Neither the registry nor the lake knows a device."""

    reason = "device_unheard_of"
    device_id: str
    days: int
    sentence = "device {device_id} is not registered, and sent nothing in {days} days"


def coverage(
    *,
    by_day: Annotated[
        bool, typer.Option("--by-day", help="Also each of the last 30 days.")
    ] = False,
    formats: FormatOptions,
    where: PlatformOptions,
) -> None:
    """Registered devices that sent something in 1, 2 and 7 days.

    Relayed messages do not prove that the device is alive; they are counted separately.
    """
    with _fleet(where) as fleet:
        windows = [devices.coverage(fleet, days=days) for days in devices.COVERAGE_DAYS]
        found: list[tables.Table[Any]] = [tables.COVERAGE.of(windows)]
        if by_day:
            found.insert(0, tables.COVERAGE_BY_DAY.of(devices.coverage_by_day(fleet)))
        formats.show(*found, asked_at_ms=fleet.asked_at_ms)


def silent(*, days: DaysOption = 7, formats: FormatOptions, where: PlatformOptions) -> None:
    """Registered devices that sent nothing themselves, the latest to fall silent first."""
    with _fleet(where) as fleet:
        title, rows = f"Silent for {days} days or more", devices.silent(fleet, days=days)
        found = tables.devices(rows, name="silent", title=title, asked_at_ms=fleet.asked_at_ms)
        formats.show(found, asked_at_ms=fleet.asked_at_ms)


def late(
    *,
    days: DaysOption = 7,
    over_minutes: Annotated[
        int, typer.Option(min=1, help="The lag from which a message is late.")
    ] = 60,
    share: Annotated[
        float, typer.Option(min=0.01, max=1, help="The share of its messages that must be late.")
    ] = 0.5,
    formats: FormatOptions,
    where: PlatformOptions,
) -> None:
    """Devices whose messages are often late, and all messages by lag."""
    with _fleet(where) as fleet:
        over_ms = over_minutes * 60_000
        rows = traffic.late(fleet, days=days, over_ms=over_ms, share_min=share)
        formats.show(
            tables.LATE_DEVICES.of(rows),
            tables.lags(traffic.lags(fleet, days=days)),
            asked_at_ms=fleet.asked_at_ms,
        )


def sizes(*, days: DaysOption = 7, formats: FormatOptions, where: PlatformOptions) -> None:
    """Messages by size, and each stream's compression."""
    with _fleet(where) as fleet:
        formats.show(
            tables.size_bins(traffic.size_bins(fleet, days=days)),
            tables.SIZES.of([traffic.sizes(fleet, days=days)]),
            tables.COMPRESSION.of(traffic.compression(fleet, days=days)),
            asked_at_ms=fleet.asked_at_ms,
        )


def health(*, days: DaysOption = 7, formats: FormatOptions, where: PlatformOptions) -> None:
    """Malformed messages by firmware, and parse time by parser."""
    with _fleet(where) as fleet:
        formats.show(
            tables.FIRMWARE.of(traffic.by_firmware(fleet, days=days)),
            tables.PARSERS.of(traffic.parse_times(fleet, days=days)),
            asked_at_ms=fleet.asked_at_ms,
        )


def device(
    device_id: DeviceId, *, days: DaysOption = 30, formats: FormatOptions, where: PlatformOptions
) -> None:
    """What one device sent by day, and the gaps in its data's times."""
    checked_device_id(device_id)
    with _fleet(where) as fleet:
        registered, at_ms = devices.seen(fleet, device_id), fleet.asked_at_ms
        found: Sequence[tables.Table[Any]] = [
            tables.DEVICE_DAYS.of(devices.days_of(fleet, device_id, days=days)),
            tables.GAPS.of(devices.gaps(fleet, days=days, device_id=device_id)),
            tables.devices(registered, name="device", title="In the registry", asked_at_ms=at_ms),
        ]
        if not any(table.rows for table in found):
            raise UnknownToFleetError(device_id, days)
        formats.show(*found, asked_at_ms=at_ms)


def _fleet(where: PlatformOptions) -> AbstractContextManager[Fleet]:
    """The fleet of a platform as of now; raises as ``fleet_of``."""
    return fleet_of(where.platform(), asked_at_ms=now_ms())
