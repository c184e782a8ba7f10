"""All that the report tells, gathered at one time."""

from dataclasses import dataclass
from typing import Final

from operations.fleet import health, lateness, presence, volume
from operations.fleet.answers import (
    Bin,
    Compression,
    Coverage,
    DayHeard,
    DeviceSeen,
    FirmwareHealth,
    LateDevice,
    ParserTime,
    Quantiles,
)
from operations.fleet.fleet import Fleet
from operations.fleet.freshness import latest_ms

REPORT_DAYS: Final = 7
"""What every figure is about, but coverage over the days and when a device was heard last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetFigures:
    """The answers to each question as of ``asked_at_ms``.

    ``latest_ms`` is the arrival of the latest message in the lake; ``None`` where it is empty.
    """

    asked_at_ms: int
    latest_ms: int | None
    coverage: tuple[Coverage, ...]
    by_day: tuple[DayHeard, ...]
    silent: tuple[DeviceSeen, ...]
    late: tuple[LateDevice, ...]
    lags: tuple[Bin, ...]
    sizes: Quantiles
    size_bins: tuple[Bin, ...]
    compression: tuple[Compression, ...]
    firmware: tuple[FirmwareHealth, ...]
    parsers: tuple[ParserTime, ...]

    @property
    def registered(self) -> int:
        return self.coverage[0].registered


def figures_of(fleet: Fleet) -> FleetFigures:
    """Ask everything."""
    return FleetFigures(
        asked_at_ms=fleet.asked_at_ms,
        latest_ms=latest_ms(fleet),
        coverage=tuple(presence.coverage(fleet, days=days) for days in presence.COVERAGE_DAYS),
        by_day=tuple(presence.heard_by_day(fleet)),
        silent=tuple(presence.silent(fleet, days=REPORT_DAYS)),
        late=tuple(lateness.late(fleet, days=REPORT_DAYS)),
        lags=lateness.lags(fleet, days=REPORT_DAYS),
        sizes=volume.sizes(fleet, days=REPORT_DAYS),
        size_bins=volume.size_bins(fleet, days=REPORT_DAYS),
        compression=tuple(volume.compression(fleet, days=REPORT_DAYS)),
        firmware=tuple(health.by_firmware(fleet, days=REPORT_DAYS)),
        parsers=tuple(health.parse_times(fleet, days=REPORT_DAYS)),
    )
