"""Settings and clients that the functions which devices call share."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Final

from aws_lambda_powertools import Logger

from clients.aws import AwsSettings, S3Client, dynamodb_table, hasty_config
from clients.devices.bound_devices import CachedBoundDevices
from clients.devices.overrides import OverridesStore, cached_overrides
from clients.devices.registry import DeviceRegistry
from clients.environment import BadSettingError
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.job_arguments import FLOWS_MAX_AGE_S
from fleetlane.events.overrides import HARD_BYTES_PER_MINUTE, SOFT_BYTES_PER_MINUTE, RateLimits
from lambdas.http.embedded_metrics import MetricLine
from lambdas.http.rate_limiter import RateDecision, RateLimiter

_OVERRIDES_WAIT_S: Final = 0.25
"""The longest that a request waits for the overrides to be read again."""

_PER_MINUTE: Final = "_RATE_LIMIT_PER_MINUTE"
_LOOK_UP_S: Final = 1.0
"""The longest that a request waits for the registry; messages of other devices then try later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceSettings:
    """Where flows, overrides and devices are, and how old cached flows and overrides may be.

    Both rate limits are set, or neither: then a device has those alone that overrides give it.
    """

    flows_bucket: str
    overrides_bucket: str
    registry_table: str
    flows_max_age_s: int = FLOWS_MAX_AGE_S
    overrides_max_age_s: int = 15
    soft_rate_limit_per_minute: int | None = None
    hard_rate_limit_per_minute: int | None = None
    soft_rate_limit_bytes_per_minute: int = SOFT_BYTES_PER_MINUTE
    hard_rate_limit_bytes_per_minute: int = HARD_BYTES_PER_MINUTE

    def __post_init__(self) -> None:
        _ = self.rate_limits

    @property
    def rate_limits(self) -> RateLimits | None:
        soft, hard = self.soft_rate_limit_per_minute, self.hard_rate_limit_per_minute
        if soft is None and hard is None:
            return None
        if soft is None or hard is None:
            missing = "SOFT" if soft is None else "HARD"
            raise BadSettingError(f"{missing}{_PER_MINUTE}", "is missing or empty")
        try:
            return RateLimits(
                soft_per_minute=soft,
                hard_per_minute=hard,
                soft_bytes_per_minute=self.soft_rate_limit_bytes_per_minute,
                hard_bytes_per_minute=self.hard_rate_limit_bytes_per_minute,
            )
        except ValueError as problem:
            raise BadSettingError(f"SOFT{_PER_MINUTE}", f"is not allowed: {problem}") from None


def rate_limiter(
    settings: DeviceSettings, s3: S3Client, *, logger: Logger, unavailable_line: MetricLine
) -> RateLimiter:
    """The function's rate limiter; ``logger`` names who is over a limit.

    ``unavailable_line`` counts each failure to read the overrides.
    """

    def over_rate_limit(device_id: str, decision: RateDecision) -> None:
        logger.warning("over its rate limit", extra={"device_id": device_id, "decision": decision})

    overrides = cached_overrides(
        OverridesStore(s3, settings.overrides_bucket).read,
        on_unavailable=unavailable("overrides", logger, unavailable_line),
        max_age_s=settings.overrides_max_age_s,
        wait_s=_OVERRIDES_WAIT_S,
    )
    return RateLimiter(overrides, of_stage=settings.rate_limits, on_over_rate_limit=over_rate_limit)


def unavailable(what: str, logger: Logger, line: MetricLine) -> Callable[[FleetlaneError], None]:
    """Tell the log, and count, that something was not available."""

    def tell(problem: FleetlaneError) -> None:
        logger.warning("%s unavailable", what, extra={"problem": str(problem)})
        line.write(1)

    return tell


def bound_devices(registry_table: str) -> CachedBoundDevices:
    """The registry is opened when a gateway first speaks for another device."""

    @cache
    def registry() -> DeviceRegistry:
        config = hasty_config(seconds=_LOOK_UP_S)
        return DeviceRegistry(dynamodb_table(AwsSettings(), registry_table, config=config))

    return CachedBoundDevices(
        lambda ids: registry().find_all(ids, within_s=_LOOK_UP_S, skips_bad=True)
    )
