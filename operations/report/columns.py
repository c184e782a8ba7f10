"""What people see of each kind of row: the columns of the report's tables, and of the command's."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from operations.fleet.answers import (
    Bin,
    Compression,
    Coverage,
    DayHeard,
    DeviceDay,
    DeviceSeen,
    FirmwareHealth,
    Gap,
    LateDevice,
    ParserTime,
    Quantiles,
)
from operations.report.wording import (
    NONE,
    length,
    micros,
    moment_short,
    number,
    percent,
    ratio,
    size,
)

type Columns[Row] = Mapping[str, Callable[[Row], str]]
"""By heading, from a row to its text."""

COVERAGE: Final[Columns[Coverage]] = {
    "in the last": lambda row: "24 hours" if row.days == 1 else f"{row.days} days",
    "heard itself": lambda row: number(row.heard),
    "of registered": lambda row: percent(row.heard, row.registered),
    "only through a gateway": lambda row: number(row.through_gateway),
    "not registered": lambda row: number(row.unregistered),
}
DAYS_HEARD: Final[Columns[DayHeard]] = {
    "day (UTC)": lambda row: row.day.isoformat(),
    "heard itself": lambda row: number(row.heard),
    "only through a gateway": lambda row: number(row.through_gateway),
    "messages": lambda row: number(row.messages),
}
LATE: Final[Columns[LateDevice]] = {
    "device": lambda row: row.device_id,
    "type": lambda row: row.device_type or NONE,
    "messages": lambda row: number(row.messages),
    "late": lambda row: number(row.late),
    "share": lambda row: percent(row.late, row.messages),
    "median lag": lambda row: length(row.median_lag_ms),
}
QUANTILES: Final[Columns[Quantiles]] = {
    "messages": lambda row: number(row.count),
    "half up to": lambda row: size(row.p50),
    "95 % up to": lambda row: size(row.p95),
    "99 % up to": lambda row: size(row.p99),
    "largest": lambda row: size(row.max),
    "together": lambda row: size(row.total),
}
COMPRESSION: Final[Columns[Compression]] = {
    "stream": lambda row: row.stream,
    "messages": lambda row: number(row.messages),
    "sent": lambda row: size(row.body_bytes),
    "unpacked": lambda row: size(row.inflated_bytes),
    "ratio": lambda row: ratio(row.ratio),
}
FIRMWARE: Final[Columns[FirmwareHealth]] = {
    "firmware": lambda row: row.firmware or "not declared",
    "messages": lambda row: number(row.messages),
    "malformed": lambda row: number(row.malformed),
    "share": lambda row: percent(row.malformed, row.messages),
    "parked, all reasons": lambda row: number(row.parked),
}
PARSERS: Final[Columns[ParserTime]] = {
    "parser": lambda row: row.parser,
    "attempts": lambda row: number(row.attempts),
    "half within": lambda row: micros(row.p50_us),
    "95 % within": lambda row: micros(row.p95_us),
    "99 % within": lambda row: micros(row.p99_us),
    "longest": lambda row: micros(row.max_us),
}
DEVICE_DAYS: Final[Columns[DeviceDay]] = {
    "day (UTC)": lambda row: row.day.isoformat(),
    "stream": lambda row: row.stream,
    "messages": lambda row: number(row.messages),
    "bytes": lambda row: size(row.body_bytes),
    "by a gateway": lambda row: number(row.through_gateway),
    "firmware": lambda row: row.firmware or NONE,
    "parsed": lambda row: number(row.parsed),
    "empty": lambda row: number(row.empty),
    "parked": lambda row: number(row.parked),
    "last (UTC)": lambda row: moment_short(row.last_ms),
}
GAPS: Final[Columns[Gap]] = {
    "stream": lambda row: row.stream,
    "from (UTC)": lambda row: moment_short(row.from_ms),
    "to (UTC)": lambda row: moment_short(row.to_ms),
    "length": lambda row: length(row.length_ms),
}


def seen(asked_at_ms: int) -> Columns[DeviceSeen]:
    """Those of devices and when they were heard, reckoned from a time."""

    def silent_for(row: DeviceSeen) -> str:
        return "never heard" if row.last_ms is None else length(asked_at_ms - row.last_ms)

    return {
        "device": lambda row: row.device_id,
        "type": lambda row: row.device_type,
        "status": lambda row: row.status,
        "heard last (UTC)": lambda row: moment_short(row.last_ms),
        "silent for": silent_for,
        "by a gateway (UTC)": lambda row: moment_short(row.gateway_ms),
    }


def bins(first: str, words: Callable[[Bin], str], rows: Sequence[Bin]) -> Columns[Bin]:
    """Those of a histogram, whose bins are named by ``words``."""
    messages = sum(one.messages for one in rows)
    return {
        first: words,
        "messages": lambda row: number(row.messages),
        "share": lambda row: percent(row.messages, messages),
    }
