"""Reading settings from the environment, which is passed in as a mapping."""

from collections.abc import Mapping

from fleetlane.events.errors import FleetlaneError


class BadSettingError(FleetlaneError):
    """A setting of a function is missing or not allowed: it cannot start."""

    reason = "bad_setting"
    name: str
    problem: str
    sentence = "setting {name} {problem}"


def text_setting(environ: Mapping[str, str], name: str) -> str:
    """Return a setting that must be there.

    Raises:
        BadSettingError: It is missing or empty.
    """
    value = environ.get(name, "")
    if not value:
        raise BadSettingError(name, "is missing or empty")
    return value


def count_setting(environ: Mapping[str, str], name: str, *, default: int | None = None) -> int:
    """Return a setting that is a whole number from 1 up; ``default`` where it is not set.

    Raises:
        BadSettingError: It is missing without a default, or no such number.
    """
    if default is not None and not environ.get(name):
        return default
    value = text_setting(environ, name)
    if not value.isdecimal() or int(value) < 1:
        raise BadSettingError(name, f"is {value!r}; allowed: whole numbers from 1")
    return int(value)
