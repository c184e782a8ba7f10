"""The questions that each ``fleetlane fleet`` command asks, and the columns that it shows."""

from typing import TYPE_CHECKING

from fleetlane.cli.output.fleet_tables import Answer

if TYPE_CHECKING:
    from operations.fleet.fleet import Fleet


def coverage(fleet: "Fleet", *, by_day: bool) -> list[Answer]:
    from operations.fleet import presence
    from operations.fleet.answers import Coverage, DayHeard
    from operations.report import columns

    windows = Answer(
        name="coverage",
        title="Registered devices heard",
        row=Coverage,
        rows=[presence.coverage(fleet, days=days) for days in presence.COVERAGE_DAYS],
        columns=columns.COVERAGE,
    )
    if not by_day:
        return [windows]
    days = Answer(
        name="by_day",
        title="By day",
        row=DayHeard,
        rows=presence.heard_by_day(fleet),
        columns=columns.DAYS_HEARD,
    )
    return [days, windows]


def silent(fleet: "Fleet", *, days: int) -> list[Answer]:
    from operations.fleet import presence
    from operations.fleet.answers import DeviceSeen
    from operations.report import columns

    title, rows = f"Silent for {days} days or more", presence.silent(fleet, days=days)
    shown = columns.seen(fleet.asked_at_ms)
    return [Answer(name="silent", title=title, row=DeviceSeen, rows=rows, columns=shown)]


def late(fleet: "Fleet", *, days: int, over_ms: int, share_min: float) -> list[Answer]:
    from operations.fleet import lateness
    from operations.fleet.answers import Bin, LateDevice
    from operations.report import columns
    from operations.report.bins import lag_words
    from operations.report.wording import length

    lags = lateness.lags(fleet, days=days)
    return [
        Answer(
            name="late",
            title=f"Chronically over {length(over_ms)} late",
            row=LateDevice,
            rows=lateness.late(fleet, days=days, over_ms=over_ms, share_min=share_min),
            columns=columns.LATE,
        ),
        Answer(
            name="lags",
            title="Messages by lag",
            row=Bin,
            rows=lags,
            columns=columns.bins("lag", lag_words, lags),
        ),
    ]


def sizes(fleet: "Fleet", *, days: int) -> list[Answer]:
    from operations.fleet import volume
    from operations.fleet.answers import Bin, Compression, Quantiles
    from operations.report import columns
    from operations.report.bins import size_words

    bins = volume.size_bins(fleet, days=days)
    quantiles = [volume.sizes(fleet, days=days)]
    compression = volume.compression(fleet, days=days)
    return [
        Answer(
            name="bins",
            title="Messages by size",
            row=Bin,
            rows=bins,
            columns=columns.bins("size", size_words, bins),
        ),
        Answer(
            name="sizes",
            title="Sizes",
            row=Quantiles,
            rows=quantiles,
            columns=columns.QUANTILES,
        ),
        Answer(
            name="compression",
            title="Compression",
            row=Compression,
            rows=compression,
            columns=columns.COMPRESSION,
        ),
    ]


def health(fleet: "Fleet", *, days: int) -> list[Answer]:
    from operations.fleet import health as answered
    from operations.fleet.answers import FirmwareHealth, ParserTime
    from operations.report import columns

    return [
        Answer(
            name="firmware",
            title="Malformed by firmware",
            row=FirmwareHealth,
            rows=answered.by_firmware(fleet, days=days),
            columns=columns.FIRMWARE,
        ),
        Answer(
            name="parsers",
            title="Parse time by parser",
            row=ParserTime,
            rows=answered.parse_times(fleet, days=days),
            columns=columns.PARSERS,
        ),
    ]


def device(fleet: "Fleet", device_id: str, *, days: int) -> list[Answer]:
    from operations.fleet import one_device, presence
    from operations.fleet.answers import DeviceDay, DeviceSeen, Gap
    from operations.report import columns

    gaps = one_device.gaps(fleet, days=days, device_id=device_id)
    return [
        Answer(
            name="days",
            title="By day",
            row=DeviceDay,
            rows=one_device.days_of(fleet, device_id, days=days),
            columns=columns.DEVICE_DAYS,
        ),
        Answer(
            name="gaps",
            title="Gaps of an hour and more in what it declared",
            row=Gap,
            rows=gaps,
            columns=columns.GAPS,
        ),
        Answer(
            name="device",
            title="In the registry",
            row=DeviceSeen,
            rows=presence.seen(fleet, device_id),
            columns=columns.seen(fleet.asked_at_ms),
        ),
    ]
