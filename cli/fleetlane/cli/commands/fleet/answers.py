"""The tables that each ``fleetlane fleet`` command shows."""

from collections.abc import Sequence
from typing import Any

from operations.fleet import health as queries
from operations.fleet import lateness, one_device, presence, volume
from operations.fleet.fleet import Fleet
from operations.report import tables
from operations.report.tables import Table

type Tables = Sequence[Table[Any]]


def coverage(fleet: Fleet, *, by_day: bool) -> Tables:
    windows = tables.COVERAGE.of(
        [presence.coverage(fleet, days=days) for days in presence.COVERAGE_DAYS]
    )
    if not by_day:
        return [windows]
    return [tables.COVERAGE_BY_DAY.of(presence.coverage_by_day(fleet)), windows]


def silent(fleet: Fleet, *, days: int) -> Tables:
    title, rows = f"Silent for {days} days or more", presence.silent(fleet, days=days)
    return [tables.devices(rows, name="silent", title=title, asked_at_ms=fleet.asked_at_ms)]


def late(fleet: Fleet, *, days: int, over_ms: int, share_min: float) -> Tables:
    rows = lateness.late(fleet, days=days, over_ms=over_ms, share_min=share_min)
    return [tables.LATE_DEVICES.of(rows), tables.lags(lateness.lags(fleet, days=days))]


def sizes(fleet: Fleet, *, days: int) -> Tables:
    return [
        tables.size_bins(volume.size_bins(fleet, days=days)),
        tables.SIZES.of([volume.sizes(fleet, days=days)]),
        tables.COMPRESSION.of(volume.compression(fleet, days=days)),
    ]


def health(fleet: Fleet, *, days: int) -> Tables:
    return [
        tables.FIRMWARE.of(queries.by_firmware(fleet, days=days)),
        tables.PARSERS.of(queries.parse_times(fleet, days=days)),
    ]


def device(fleet: Fleet, device_id: str, *, days: int) -> Tables:
    registered = presence.seen(fleet, device_id)
    return [
        tables.DEVICE_DAYS.of(one_device.days_of(fleet, device_id, days=days)),
        tables.GAPS.of(one_device.gaps(fleet, days=days, device_id=device_id)),
        tables.devices(
            registered, name="device", title="In the registry", asked_at_ms=fleet.asked_at_ms
        ),
    ]
