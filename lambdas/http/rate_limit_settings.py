"""A stage's rate limits, as the functions that devices call are told of them."""

from collections.abc import Mapping
from typing import Final

from clients.environment import BadSettingError, count_setting
from fleetlane.events.overrides import RateLimits

OVERRIDES_MAX_AGE_S: Final = 15

_SOFT: Final = "SOFT_RATE_LIMIT_PER_MINUTE"
_HARD: Final = "HARD_RATE_LIMIT_PER_MINUTE"


def rate_limits_setting(environ: Mapping[str, str]) -> RateLimits | None:
    """Read them; both are set, or neither.

    Raises:
        BadSettingError: One is missing or not allowed.
    """
    if not (environ.get(_SOFT) or environ.get(_HARD)):
        return None
    soft, hard = count_setting(environ, _SOFT), count_setting(environ, _HARD)
    try:
        return RateLimits(soft_per_minute=soft, hard_per_minute=hard)
    except ValueError:
        raise BadSettingError(_SOFT, f"is {soft}; allowed: at most {_HARD}, {hard}") from None
