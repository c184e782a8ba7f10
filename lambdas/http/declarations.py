"""What a device may declare of a message, in a header or in an entry of a batch."""

import re
from dataclasses import dataclass
from typing import Final

import msgspec

from fleetlane.events.errors import FleetlaneError

BODY_ENCODINGS: Final = ("gzip", "deflate", "zstd")

_VALUE_SHOWN_CHARS: Final = 80


class BadRequestError(FleetlaneError):
    """A request that no retry can mend. The problem names the place, its value, what may be."""

    reason = "bad_request"
    problem: str
    sentence = "{problem}"


class Declared(msgspec.Struct, frozen=True, kw_only=True):
    """What a device says of a message; what it does not say is ``None``."""

    content_type: str
    idempotency_key: str | None = None
    firmware: str | None = None
    start_millis: int | None = None
    end_millis: int | None = None
    body_encoding: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What a declared value must match, and how that is said."""

    pattern: re.Pattern[str]
    allowed: str


CONTENT_TYPE: Final = Rule(pattern=re.compile("[ -~]{1,256}"), allowed="1 to 256 ASCII characters")
IDEMPOTENCY_KEY: Final = Rule(pattern=re.compile("[!-~]{1,256}"), allowed="1 to 256 visible ASCII")
FIRMWARE: Final = Rule(pattern=re.compile("[!-~]{1,64}"), allowed="1 to 64 visible ASCII")
BODY_ENCODING: Final = Rule(
    pattern=re.compile("|".join(BODY_ENCODINGS)), allowed=", ".join(BODY_ENCODINGS)
)
MILLIS: Final = Rule(
    pattern=re.compile("-?[0-9]{1,18}"), allowed="a whole number of at most 18 digits"
)


def checked(place: str, value: str, rule: Rule) -> str:
    """Return ``value``, which is that of ``place``.

    Raises:
        BadRequestError: It does not match the rule.
    """
    if rule.pattern.fullmatch(value) is None:
        raise refusal(place, value, rule.allowed)
    return value


def checked_span(
    start: tuple[str, int | None], end: tuple[str, int | None]
) -> tuple[int | None, int | None]:
    """Return when the data begins and ends; of each the place and the value.

    Raises:
        BadRequestError: It ends before it begins.
    """
    (start_place, start_millis), (end_place, end_millis) = start, end
    if start_millis is not None and end_millis is not None and start_millis > end_millis:
        allowed = f"at most {end_place.rpartition(' ')[2]}, {end_millis}"
        raise refusal(start_place, str(start_millis), allowed)
    return start_millis, end_millis


def refusal(place: str, value: str, allowed: str) -> BadRequestError:
    return BadRequestError(f"{place} is {shown(value)}; allowed: {allowed}")


def shown(value: str) -> str:
    """A value as an answer shows it: quoted, and cut where it is long."""
    cut = len(value) > _VALUE_SHOWN_CHARS
    return f"{value[:_VALUE_SHOWN_CHARS]!r}{'…' if cut else ''}"
