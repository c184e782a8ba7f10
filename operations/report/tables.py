"""What people see of each query's rows, in the report and at the command line."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Self

from operations.fleet.devices import Coverage, DayCoverage, DeviceDay, DeviceSeen, Gap
from operations.fleet.fleet import Bin
from operations.fleet.traffic import Compression, FirmwareHealth, LateDevice, ParserTime, Quantiles
from operations.report.wording import (
    NONE,
    duration,
    micros,
    moment_short,
    number,
    percent,
    ratio,
    size,
)

_PRESENCE_KEYS: Final = {"reported": "heard"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Table[Row]:
    """Rows of one kind. ``columns`` give the text of each cell, by heading.

    ``name`` is the table's key in JSON; ``keys`` are the published names of fields whose name in
    ``row`` differs. The first ``text_columns`` hold words, the others numbers.
    """

    name: str
    title: str
    row: type[Row]
    rows: Sequence[Row] = ()
    columns: Mapping[str, Callable[[Row], str]]
    keys: Mapping[str, str] = field(default_factory=dict)
    text_columns: int = 1

    def of(self, rows: Sequence[Row]) -> Self:
        return replace(self, rows=rows)


COVERAGE: Final = Table(
    name="coverage",
    title="Coverage",
    row=Coverage,
    columns={
        "in the last": lambda row: "24 hours" if row.days == 1 else f"{row.days} days",
        "sent directly": lambda row: number(row.reported),
        "of registered": lambda row: percent(row.reported, row.registered),
        "only through a gateway": lambda row: number(row.through_gateway),
        "not registered": lambda row: number(row.unregistered),
    },
    keys=_PRESENCE_KEYS,
)
COVERAGE_BY_DAY: Final = Table(
    name="by_day",
    title="Coverage by day",
    row=DayCoverage,
    columns={
        "day (UTC)": lambda row: row.day.isoformat(),
        "sent directly": lambda row: number(row.reported),
        "only through a gateway": lambda row: number(row.through_gateway),
        "messages": lambda row: number(row.messages),
    },
    keys=_PRESENCE_KEYS,
)


def devices(
    rows: Sequence[DeviceSeen], *, name: str, title: str, asked_at_ms: int
) -> Table[DeviceSeen]:
    def silent_for(row: DeviceSeen) -> str:
        return "never reported" if row.last_ms is None else duration(asked_at_ms - row.last_ms)

    return Table(
        name=name,
        title=title,
        row=DeviceSeen,
        rows=rows,
        columns={
            "device": lambda row: row.device_id,
            "type": lambda row: row.device_type,
            "status": lambda row: row.status,
            "last message (UTC)": lambda row: moment_short(row.last_ms),
            "silent for": silent_for,
            "last relayed (UTC)": lambda row: moment_short(row.gateway_ms),
        },
        text_columns=3,
    )


LATE_DEVICES: Final = Table(
    name="late",
    title="Chronically late devices",
    row=LateDevice,
    columns={
        "device": lambda row: row.device_id,
        "type": lambda row: row.device_type or NONE,
        "messages": lambda row: number(row.messages),
        "late": lambda row: number(row.late),
        "share": lambda row: percent(row.late, row.messages),
        "median lag": lambda row: duration(row.median_lag_ms),
    },
    text_columns=2,
)


def lags(rows: Sequence[Bin]) -> Table[Bin]:
    return _histogram(rows, lag_label, name="lags", of="lag")


def size_bins(rows: Sequence[Bin]) -> Table[Bin]:
    return _histogram(rows, size_label, name="bins", of="size")


def _histogram(
    rows: Sequence[Bin], label: Callable[[Bin], str], *, name: str, of: str
) -> Table[Bin]:
    messages = sum(one.messages for one in rows)
    return Table(
        name=name,
        title=f"Messages by {of}",
        row=Bin,
        rows=rows,
        columns={
            of: label,
            "messages": lambda row: number(row.messages),
            "share": lambda row: percent(row.messages, messages),
        },
    )


def lag_label(lags: Bin) -> str:
    """``up to 6 h``: above the upper bound of the bin before."""
    if lags.low is None:
        return "clock ahead"
    return f"over {duration(lags.low)}" if lags.high is None else f"up to {duration(lags.high)}"


def size_label(sizes: Bin) -> str:
    """``up to 10 kB``: above the upper bound of the bin before."""
    return f"over {size(sizes.low)}" if sizes.high is None else f"up to {size(sizes.high)}"


SIZES: Final = Table(
    name="sizes",
    title="Sizes",
    row=Quantiles,
    columns={
        "messages": lambda row: number(row.count),
        "median": lambda row: size(row.p50),
        "p95": lambda row: size(row.p95),
        "p99": lambda row: size(row.p99),
        "largest": lambda row: size(row.max),
        "total": lambda row: size(row.total),
    },
)
COMPRESSION: Final = Table(
    name="compression",
    title="Compression by stream",
    row=Compression,
    columns={
        "stream": lambda row: row.stream,
        "messages": lambda row: number(row.messages),
        "sent": lambda row: size(row.body_bytes),
        "decompressed": lambda row: size(row.inflated_bytes),
        "ratio": lambda row: ratio(row.ratio),
    },
)
FIRMWARE: Final = Table(
    name="firmware",
    title="Malformed by firmware",
    row=FirmwareHealth,
    columns={
        "firmware": lambda row: row.firmware or "not declared",
        "messages": lambda row: number(row.messages),
        "malformed": lambda row: number(row.malformed),
        "share": lambda row: percent(row.malformed, row.messages),
        "parked, all reasons": lambda row: number(row.parked),
    },
)
PARSERS: Final = Table(
    name="parsers",
    title="Parse time by parser",
    row=ParserTime,
    columns={
        "parser": lambda row: row.parser,
        "attempts": lambda row: number(row.attempts),
        "median": lambda row: micros(row.p50_us),
        "p95": lambda row: micros(row.p95_us),
        "p99": lambda row: micros(row.p99_us),
        "longest": lambda row: micros(row.max_us),
    },
)
DEVICE_DAYS: Final = Table(
    name="days",
    title="By day",
    row=DeviceDay,
    columns={
        "day (UTC)": lambda row: row.day.isoformat(),
        "stream": lambda row: row.stream,
        "messages": lambda row: number(row.messages),
        "bytes": lambda row: size(row.body_bytes),
        "through a gateway": lambda row: number(row.through_gateway),
        "firmware": lambda row: row.firmware or NONE,
        "parsed": lambda row: number(row.parsed),
        "empty": lambda row: number(row.empty),
        "parked": lambda row: number(row.parked),
        "last (UTC)": lambda row: moment_short(row.last_ms),
    },
)
GAPS: Final = Table(
    name="gaps",
    title="Gaps of an hour or more in the device's data",
    row=Gap,
    columns={
        "stream": lambda row: row.stream,
        "from (UTC)": lambda row: moment_short(row.from_ms),
        "to (UTC)": lambda row: moment_short(row.to_ms),
        "length": lambda row: duration(row.length_ms),
    },
)
