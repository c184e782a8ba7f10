"""All query results that the report shows, as of one time."""

from dataclasses import dataclass
from typing import Final

from operations.fleet import health, lateness, presence, volume
from operations.fleet.fleet import Bin, Fleet

REPORT_DAYS: Final = 7
"""The window of every figure except the coverage by day and when a device last reported."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetFigures:
    """``latest_ms`` is the arrival of the latest message in the lake; ``None`` if it is empty."""

    asked_at_ms: int
    latest_ms: int | None
    coverage: tuple[presence.Coverage, ...]
    by_day: tuple[presence.DayCoverage, ...]
    silent: tuple[presence.DeviceSeen, ...]
    late: tuple[lateness.LateDevice, ...]
    lags: tuple[Bin, ...]
    sizes: volume.Quantiles
    size_bins: tuple[Bin, ...]
    compression: tuple[volume.Compression, ...]
    firmware: tuple[health.FirmwareHealth, ...]
    parsers: tuple[health.ParserTime, ...]

    @property
    def registered(self) -> int:
        return self.coverage[0].registered

    @property
    def never_reported(self) -> int:
        return sum(device.last_ms is None for device in self.silent)

    @property
    def fell_silent(self) -> int:
        return len(self.silent) - self.never_reported

    @property
    def with_end_time(self) -> int:
        """Messages that state the end of their data."""
        return sum(one.messages for one in self.lags)

    @property
    def over_an_hour_late(self) -> int:
        return sum(one.messages for one in self.lags if lateness.is_late(one))

    @property
    def malformed(self) -> int:
        return sum(one.malformed for one in self.firmware)


def figures_of(fleet: Fleet) -> FleetFigures:
    """Run all queries."""
    return FleetFigures(
        asked_at_ms=fleet.asked_at_ms,
        latest_ms=fleet.latest_ms(),
        coverage=tuple(presence.coverage(fleet, days=days) for days in presence.COVERAGE_DAYS),
        by_day=tuple(presence.coverage_by_day(fleet)),
        silent=tuple(presence.silent(fleet, days=REPORT_DAYS)),
        late=tuple(lateness.late(fleet, days=REPORT_DAYS)),
        lags=lateness.lags(fleet, days=REPORT_DAYS),
        sizes=volume.sizes(fleet, days=REPORT_DAYS),
        size_bins=volume.size_bins(fleet, days=REPORT_DAYS),
        compression=tuple(volume.compression(fleet, days=REPORT_DAYS)),
        firmware=tuple(health.by_firmware(fleet, days=REPORT_DAYS)),
        parsers=tuple(health.parse_times(fleet, days=REPORT_DAYS)),
    )
