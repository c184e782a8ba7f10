"""Times as text. Milliseconds since 1970 in UTC everywhere else."""

import re
import time
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import Final

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
DAY_MS: Final = 86_400_000
HOUR_MS: Final = 3_600_000

MILLIS_MIN: Final = -62_135_596_800_000
"""The first millisecond of year 1: nothing before it has an RFC 3339 form."""
MILLIS_MAX: Final = 253_402_300_799_999
"""The last millisecond of year 9999."""

_RFC3339: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?"
    r"([Zz]|[+-][0-9]{2}:[0-9]{2})"
)
_THOUSANDTHS: Final = tuple(f".{number:03d}Z" for number in range(1000))


def now_ms() -> int:
    return time.time_ns() // 1_000_000


@lru_cache(maxsize=4096)
def _hour(hour: int) -> str:
    return (EPOCH + timedelta(hours=hour)).isoformat()[: len("2026-11-03T14")]


@lru_cache(maxsize=4096)
def _second(second: int) -> str:
    hour, rest = divmod(second, 3600)
    return f"{_hour(hour)}:{rest // 60:02d}:{rest % 60:02d}"


def rfc3339(millis: int) -> str:
    """Format ``millis`` as ``2026-11-03T14:05:09.123Z``. Needs a year from 1 to 9999."""
    second, thousandths = divmod(millis, 1000)
    return _second(second) + _THOUSANDTHS[thousandths]


def time_text(millis: int) -> str:
    """The same for people, of any number: one that is no time in years 1 to 9999 stays a number."""
    return rfc3339(millis) if MILLIS_MIN <= millis <= MILLIS_MAX else f"{millis} ms since 1970"


def hour_bucket(millis: int) -> str:
    """Format the hour that ``millis`` falls in as ``2026-11-03T14``."""
    return _hour(millis // HOUR_MS)


def day_of(millis: int) -> date:
    return (EPOCH + timedelta(milliseconds=millis)).date()


def millis_of(moment: datetime) -> int:
    """The whole milliseconds since 1970 of a time with a time zone."""
    return (moment - EPOCH) // timedelta(milliseconds=1)


def millis_from_rfc3339(text: str) -> int | None:
    """Read an RFC 3339 time; ``None`` where it is none. A fraction of a millisecond is cut off."""
    if _RFC3339.fullmatch(text) is None:  # fromisoformat alone takes far more: weeks, no offset
        return None
    try:
        return millis_of(datetime.fromisoformat(text.upper()))
    except ValueError:
        return None
