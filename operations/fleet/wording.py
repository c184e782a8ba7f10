"""Numbers, sizes, times and shares for people. A share is never rounded to 0 % or 100 %."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Final

from fleetlane.events.times import DAY_MS, EPOCH, HOUR_MS, MILLIS_MAX, MILLIS_MIN, time_text

_UNITS: Final = ((DAY_MS, "day"), (HOUR_MS, "h"), (60_000, "min"), (1_000, "s"))
NONE: Final = "\N{EN DASH}"
NARROW_SPACE: Final = "\N{NARROW NO-BREAK SPACE}"
_TENTH: Final = 0.001
_BLOCKS: Final = " ▁▂▃▄▅▆▇█"


def number(value: int | None) -> str:
    """``12,345``; a dash where there is none."""
    return NONE if value is None else f"{value:,}"


def counted(value: int, one: str, many: str | None = None) -> str:
    """``1 device``, ``2 devices``."""
    return f"{value:,} {one if value == 1 else many or f'{one}s'}"


def percent(part: float, whole: float) -> str:
    """``97.2 %``; ``under 0.1 %`` and ``over 99.9 %`` where it would look like none or all."""
    if not whole:
        return NONE
    share = part / whole
    if 0 < share < _TENTH:
        return f"under 0.1{NARROW_SPACE}%"
    if 1 - _TENTH < share < 1:
        return f"over 99.9{NARROW_SPACE}%"
    return f"{share * 100:.1f}{NARROW_SPACE}%".replace(".0", "")


def size(size_bytes: float) -> str:
    """``12 B``, ``3.4 kB``, ``5.6 MB``, in decimal units."""
    value, unit = float(size_bytes), "B"
    for unit in ("B", "kB", "MB", "GB", "TB", "PB", "EB"):  # noqa: B007 - the last is shown
        if value < 999.5:  # noqa: PLR2004 - 1,000 once it is rounded
            break
        value /= 1_000
    digits = 0 if unit == "B" or value >= 99.5 else 1  # noqa: PLR2004 - 100 once it is rounded
    return f"{value:.{digits}f}".removesuffix(".0") + f"{NARROW_SPACE}{unit}"


def limit(limit_bytes: int) -> str:
    """``256 KiB`` of one that is a whole number of them or of MiB, else as ``size``."""
    for unit_bytes, unit in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if limit_bytes and limit_bytes % unit_bytes == 0:
            return f"{limit_bytes // unit_bytes}{NARROW_SPACE}{unit}"
    return size(limit_bytes)


def span(low: int | None, high: int | None, text: Callable[[int], str]) -> str:
    """``1-10 kB``, ``100 B-1 kB``, ``over 64 MiB``: a unit that both have is named once."""
    if high is None:
        return NONE if low is None else f"over {text(low)}"
    if low is None or low < 0:
        return f"up to {text(high)}"
    first, last = text(low), text(high)
    value, _, unit = first.partition(NARROW_SPACE)
    is_shared = unit.removesuffix("s") == last.partition(NARROW_SPACE)[2].removesuffix("s")
    return f"{value if is_shared else first}\N{EN DASH}{last}"


def size_span(low: int | None, high: int | None) -> str:
    """``100 B-1 kB``."""
    return span(low, high, limit)


def lag_span(low: int | None, high: int | None) -> str:
    """``1-10 min``; without a first bound the device's clock is ahead of ours."""
    return "clock ahead" if low is None else span(low, high, duration)


def duration(duration_ms: int) -> str:
    """In its largest unit: ``9 days``, ``3.5 h``, ``40 min``, ``250 ms``."""
    sign = "\N{MINUS SIGN}" if duration_ms < 0 else ""
    positive_ms = abs(duration_ms)
    for unit_ms, unit in _UNITS:
        if positive_ms >= unit_ms:
            text = f"{positive_ms / unit_ms:.1f}".removesuffix(".0")
            plural = "s" if unit == "day" and text != "1" else ""
            return f"{sign}{text}{NARROW_SPACE}{unit}{plural}"
    return f"{sign}{positive_ms}{NARROW_SPACE}ms"


def ratio(value: float) -> str:
    """``3.4 times``, with its sign."""
    return f"{value:.1f}{NARROW_SPACE}\N{MULTIPLICATION SIGN}"


def blocks(counts: Sequence[int]) -> str:
    """A block for each, as high as its share of the fullest."""
    most = max(counts, default=0)
    return "".join(_BLOCKS[-(-8 * one // most)] for one in counts) if most else NONE


def micros(value: int) -> str:
    """``420 µs``, ``1.5 ms``, ``2 s``."""
    for unit_us, unit in ((1_000_000, "s"), (1_000, "ms")):
        if value >= unit_us:
            return f"{value / unit_us:.1f}".removesuffix(".0") + f"{NARROW_SPACE}{unit}"
    return f"{value}{NARROW_SPACE}µs"


def moment(at_ms: int) -> str:
    """``21 November 2026, 15:20 UTC``."""
    at = _utc(at_ms)
    return time_text(at_ms) if at is None else f"{at.day} {at:%B %Y, %H:%M} UTC"


def moment_short(at_ms: int) -> str:
    """``2026-11-21 15:20``, in UTC."""
    at = _utc(at_ms)
    return time_text(at_ms) if at is None else f"{at:%Y-%m-%d %H:%M}"


def _utc(at_ms: int) -> datetime | None:
    """``None`` for what is in no year from 1 to 9999: devices declare what they like."""
    is_time = MILLIS_MIN <= at_ms <= MILLIS_MAX
    return EPOCH + timedelta(milliseconds=at_ms) if is_time else None
