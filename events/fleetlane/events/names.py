"""Names of streams, device types and devices: what is allowed, in one place."""

import re
from typing import Final

from fleetlane.events.errors import FleetlaneError

NAME_PATTERN: Final = "[a-z][a-z0-9-]{0,47}"
DEVICE_ID_PATTERN: Final = "[A-Za-z0-9._-]{1,64}"

NAME: Final = re.compile(NAME_PATTERN)
DEVICE_ID: Final = re.compile(DEVICE_ID_PATTERN)


class BadNameError(FleetlaneError):
    """A stream, device type or device id is outside its pattern."""

    reason = "bad_name"
    kind: str
    value: str
    pattern: str

    def __str__(self) -> str:
        return f"{self.kind} {self.value[:80]!r} does not match {self.pattern}"


def is_name(value: str) -> bool:
    """Whether ``value`` may name a stream or a device type."""
    return NAME.fullmatch(value) is not None


def is_device_id(value: str) -> bool:
    return DEVICE_ID.fullmatch(value) is not None


def checked_name(value: str, *, kind: str) -> str:
    """Return ``value``, which names a ``kind`` ("stream", "device type").

    Raises:
        BadNameError: It does not match the pattern.
    """
    if not is_name(value):
        raise BadNameError(kind, value, NAME_PATTERN)
    return value


def checked_device_id(value: str) -> str:
    """Return ``value``, a device id.

    Raises:
        BadNameError: It does not match the pattern.
    """
    if not is_device_id(value):
        raise BadNameError("device id", value, DEVICE_ID_PATTERN)
    return value
