"""A function's settings, read from its environment."""

import os
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import StrEnum
from typing import Any

from fleetlane.events.errors import FleetlaneError


class BadSettingError(FleetlaneError):
    """A setting of a function is missing or not allowed: it cannot start."""

    name: str
    problem: str
    sentence = "setting {name} {problem}"


def read_settings[T](
    kind: type[T],
    environ: Mapping[str, str] = os.environ,  # noqa: TID251 - read here for all functions
) -> T:
    """Read a dataclass, each of its fields from the variable of its name in capitals.

    A field is text, one of a ``StrEnum``, a whole number from 1 up, or another such dataclass. A
    variable that is missing or empty leaves the field its default. Raises ``BadSettingError``.
    """
    dataclass: Any = kind
    read: dict[str, Any] = {}
    for field in fields(dataclass):
        name = field.name.upper()
        wanted: Any = field.type
        value = environ.get(name, "")
        if is_dataclass(field.type):
            read[field.name] = read_settings(wanted, environ)
        elif value:
            read[field.name] = _allowed(name, value, wanted)
        elif field.default is MISSING:
            raise BadSettingError(name, "is missing or empty")
    return kind(**read)


def _allowed(name: str, value: str, wanted: object) -> str | int:
    if wanted is str:
        return value
    if isinstance(wanted, type) and issubclass(wanted, StrEnum):
        if value not in wanted:
            raise BadSettingError(name, f"is {value!r}; allowed: {', '.join(wanted)}")
        return wanted(value)
    if not value.isdecimal() or int(value) < 1:
        raise BadSettingError(name, f"is {value!r}; allowed: whole numbers from 1")
    return int(value)
