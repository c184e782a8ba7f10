"""What a value of a logical type becomes in JSON."""

import struct
from collections.abc import Callable, Mapping
from datetime import date
from functools import partial
from typing import Any
from uuid import UUID

from fleetlane.events.times import MILLIS_MAX, MILLIS_MIN, rfc3339
from fleetlane.parsers.contract import MalformedMessage

type Convert = Callable[[Any], object]
"""From the value in the bytes to one of JSON's; raises ``MalformedMessage``."""

PRECISION_MAX = 1_000
"""Of a decimal, in digits."""

_EPOCH_DAY = date(1970, 1, 1).toordinal()
_DURATION = struct.Struct("<III")
_UUID_BYTES = 16


def conversion(schema: Mapping[str, object], write_bytes: Callable[[bytes], str]) -> Convert | None:
    """Find what a value of ``schema`` goes through; an unknown logical type is ignored.

    Raises ``TypeError`` for a decimal whose precision or scale cannot be.
    """
    kind, logical_type = schema["type"], schema.get("logicalType")
    if kind not in ("bytes", "fixed"):
        return _OF_NUMBERS.get((kind, logical_type))
    if logical_type == "decimal":
        return _decimal(schema)
    return _OF_FIXED.get((kind, logical_type, schema.get("size")), write_bytes)


def _decimal(schema: Mapping[str, object]) -> Convert:
    precision, scale = schema.get("precision"), schema.get("scale", 0)
    if type(precision) is not int or not 1 <= precision <= PRECISION_MAX:
        raise TypeError(f"a decimal's precision is {precision!r:.80}; 1 to {PRECISION_MAX}")
    if type(scale) is not int or not 0 <= scale <= precision:
        raise TypeError(f"a decimal's scale is {scale!r:.80}; 0 to its precision, {precision}")
    limit = 10**precision

    def decimal(raw: bytes) -> object:
        unscaled = int.from_bytes(raw, signed=True)
        if not -limit < unscaled < limit:
            raise MalformedMessage(f"a decimal of {len(raw)} bytes has over {precision} digits")
        digits = str(abs(unscaled)).rjust(scale + 1, "0")
        whole = len(digits) - scale
        return "-" * (unscaled < 0) + digits[:whole] + "." * (scale > 0) + digits[whole:]

    return decimal


def _date(days: int) -> object:
    try:
        return date.fromordinal(_EPOCH_DAY + days).isoformat()
    except (ValueError, OverflowError):
        raise MalformedMessage(f"a date of {days} days is not in the years 1 to 9999") from None


def _timestamp(decimals: int, zone: str, units: int) -> object:
    more = decimals - 3
    millis, rest = divmod(units, 10**more)
    if not MILLIS_MIN <= millis <= MILLIS_MAX:
        raise MalformedMessage(f"a timestamp of {units} is not in the years 1 to 9999")
    return rfc3339(millis)[:-1] + (f"{rest:0{more}d}" if more else "") + zone


def _time(decimals: int, units: int) -> object:
    per_second = 10**decimals
    if not 0 <= units < 86_400 * per_second:
        raise MalformedMessage(f"a time of day is {units}; a day ends at {86_400 * per_second}")
    seconds, rest = divmod(units, per_second)
    minutes, second = divmod(seconds, 60)
    return f"{minutes // 60:02d}:{minutes % 60:02d}:{second:02d}.{rest:0{decimals}d}"


def _duration(raw: bytes) -> object:
    return dict(zip(("months", "days", "millis"), _DURATION.unpack(raw), strict=True))


_OF_FIXED: Mapping[tuple[object, object, object], Convert] = {
    ("fixed", "duration", _DURATION.size): _duration,
    ("fixed", "uuid", _UUID_BYTES): lambda raw: str(UUID(bytes=raw)),
}
_OF_NUMBERS: Mapping[tuple[object, object], Convert] = {
    ("int", "date"): _date,
    ("int", "time-millis"): partial(_time, 3),
    ("long", "time-micros"): partial(_time, 6),
    **{
        ("long", f"{prefix}timestamp-{unit}"): partial(_timestamp, decimals, zone)
        for prefix, zone in (("", "Z"), ("local-", ""))
        for unit, decimals in (("millis", 3), ("micros", 6), ("nanos", 9))
    },
}
