"""What the page shows: all query results as of one time."""

from dataclasses import dataclass
from typing import Final

from operations.fleet import devices, traffic
from operations.fleet.fleet import Bin, Fleet

REPORT_DAYS: Final = 7
"""The window of every figure except the coverage by day and when a device last reported."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetFigures:
    """``latest_ms`` is the arrival of the latest message in the lake; ``None`` if it is empty."""

    asked_at_ms: int
    latest_ms: int | None
    coverage: tuple[devices.Coverage, ...]
    by_day: tuple[devices.DayCoverage, ...]
    silent: tuple[devices.DeviceSeen, ...]
    late: tuple[traffic.LateDevice, ...]
    lags: tuple[Bin, ...]
    sizes: traffic.Quantiles
    size_bins: tuple[Bin, ...]
    compression: tuple[traffic.Compression, ...]
    firmware: tuple[traffic.FirmwareHealth, ...]
    parsers: tuple[traffic.ParserTime, ...]

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
        return sum(one.messages for one in self.lags if traffic.is_late(one))

    @property
    def malformed(self) -> int:
        return sum(one.malformed for one in self.firmware)


def figures_of(fleet: Fleet) -> FleetFigures:
    """Run all queries."""
    return FleetFigures(
        asked_at_ms=fleet.asked_at_ms,
        latest_ms=fleet.latest_ms(),
        coverage=tuple(devices.coverage(fleet, days=days) for days in devices.COVERAGE_DAYS),
        by_day=tuple(devices.coverage_by_day(fleet)),
        silent=tuple(devices.silent(fleet, days=REPORT_DAYS)),
        late=tuple(traffic.late(fleet, days=REPORT_DAYS)),
        lags=traffic.lags(fleet, days=REPORT_DAYS),
        sizes=traffic.sizes(fleet, days=REPORT_DAYS),
        size_bins=traffic.size_bins(fleet, days=REPORT_DAYS),
        compression=tuple(traffic.compression(fleet, days=REPORT_DAYS)),
        firmware=tuple(traffic.by_firmware(fleet, days=REPORT_DAYS)),
        parsers=tuple(traffic.parse_times(fleet, days=REPORT_DAYS)),
    )
