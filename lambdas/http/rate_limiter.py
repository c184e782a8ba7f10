"""Who may send right now, and how much: overrides first, then rate limits."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from enum import StrEnum
from typing import Final, Self

import msgspec

from fleetlane.events.errors import FleetlaneError
from fleetlane.events.lanes import INLINE_BYTES_MAX
from fleetlane.events.overrides import Overrides, RateLimits, Restriction
from fleetlane.events.token_bucket import TokenBucket

_REPORTED_EVERY_MS: Final = 60_000
_MINUTE_S: Final = 60.0
_LARGE_BODY_SHARE: Final = 0.25


class RevokedDeviceError(FleetlaneError):
    """The device was revoked after its token was last checked."""

    reason = "revoked"
    device_id: str
    sentence = "device {device_id} is revoked"


class TooManyMessagesError(FleetlaneError):
    """The device is beyond a hard rate limit. The same message may be sent again later."""

    device_id: str
    per_minute_max: int
    counted: str = "messages"
    sentence = "device {device_id} sends too many {counted}; the limit is {per_minute_max} a minute"


class RateDecision(StrEnum):
    """What becomes of a message: its own lane, the bulk lane, or a refusal."""

    ACCEPTED = "accepted"
    DIVERTED = "diverted"
    REFUSED = "refused"


class Allowances(msgspec.Struct, kw_only=True, gc=False):
    """What a device may still send: a minute at the most, of which a message takes its share.

    Counted in seconds and not in messages or bytes, so that rate limits may change at any time. A
    device that was silent for a minute may send a minute's worth at once. ``reported_ms`` is when
    the device was last reported as over its rate limit.
    """

    soft: TokenBucket
    hard: TokenBucket
    soft_bytes: TokenBucket
    hard_bytes: TokenBucket
    reported_ms: int | None = None

    @classmethod
    def full(cls, now_ms: int) -> Self:
        minute = TokenBucket.full(burst=_MINUTE_S, per_s=1.0, now_s=now_ms / 1_000)
        hard, soft_bytes, hard_bytes = (msgspec.structs.replace(minute) for _ in range(3))
        return cls(soft=minute, hard=hard, soft_bytes=soft_bytes, hard_bytes=hard_bytes)

    def spend_one(
        self, rate_limits: RateLimits, *, now_ms: int, body_bytes: int = 0
    ) -> RateDecision:
        """Decide on one message, and take its share of the allowances.

        A refused message takes nothing, and a diverted one nothing of the soft allowance: a device
        that is a little too fast has most of its messages where they belong. A clock that was set
        back costs a device no more than two minutes. While any bytes are left, a message may have
        more: one that is larger than a minute's worth could never be sent otherwise.
        """
        now_s = now_ms / 1_000
        is_large = body_bytes > INLINE_BYTES_MAX
        has_bytes = self.hard_bytes.left_at(now_s) > 0
        if not (has_bytes and self.hard.take(now_s, _MINUTE_S / rate_limits.hard_per_minute)):
            return RateDecision.REFUSED
        counted_s = _MINUTE_S * body_bytes * (_LARGE_BODY_SHARE if is_large else 1)
        self.hard_bytes.overdraw(now_s, counted_s / rate_limits.hard_bytes_per_minute)
        has_bytes = is_large or self.soft_bytes.left_at(now_s) > 0
        if not (has_bytes and self.soft.take(now_s, _MINUTE_S / rate_limits.soft_per_minute)):
            return RateDecision.DIVERTED
        if not is_large:
            self.soft_bytes.overdraw(now_s, counted_s / rate_limits.soft_bytes_per_minute)
        return RateDecision.ACCEPTED


class RateLimiter:
    """Decides on each message. May be used by several threads.

    Messages are counted here, in one running function, and nowhere else: asking a store for each
    message would make ingest as slow as that store, and as weak. A fleet is served by many
    functions, and each sees a part of what a device sends. So a device below its rate limit is
    never diverted; one far beyond it always is; in between it depends on how many functions run.
    Only the ``devices_max`` devices that sent last are remembered.
    """

    def __init__(
        self,
        overrides: Callable[[], Overrides],
        *,
        of_stage: RateLimits | None,
        on_over_rate_limit: Callable[[str, RateDecision], None],
        devices_max: int = 10_000,
    ) -> None:
        """Start with full allowances for everybody.

        ``overrides`` gives those in force, at once: they count before the stage's rate limits.
        ``on_over_rate_limit`` receives a device's id and what becomes of its message when it goes
        over one; it is called once a minute for each device.
        """
        self._overrides, self._of_stage = overrides, of_stage
        self._on_over_rate_limit, self._devices_max = on_over_rate_limit, devices_max
        self._allowances: OrderedDict[str, Allowances] = OrderedDict()
        self._lock = threading.Lock()

    def is_diverted(
        self, device_id: str, stream: str, *, now_ms: int, via: str = "", body_bytes: int = 0
    ) -> bool:
        """Count one more message of a device; true if it belongs into the bulk lane.

        ``via`` is the gateway that brings it, which must not be held back either; its own rate
        limits are not for what others send.

        Raises:
            RevokedDeviceError: The device, or its gateway, may not send at all.
            TooManyMessagesError: It is beyond its hard rate limit.
        """
        overrides = self._overrides()
        is_quarantined = False
        if overrides.devices:
            is_quarantined = bool(via) and _is_quarantined(via, overrides, now_ms, stream)
            is_quarantined |= _is_quarantined(device_id, overrides, now_ms, stream)
        rate_limits = overrides.rate_limits_of(device_id, of_stage=self._of_stage)
        if rate_limits is None:
            return is_quarantined
        decision, left = self._decision(device_id, rate_limits, now_ms, body_bytes)
        if decision is RateDecision.REFUSED:
            if left.hard_bytes.left > 0:
                raise TooManyMessagesError(device_id, rate_limits.hard_per_minute)
            raise TooManyMessagesError(device_id, rate_limits.hard_bytes_per_minute, "bytes")
        return is_quarantined or decision is RateDecision.DIVERTED

    def check(self, device_id: str, *, now_ms: int) -> None:
        """Raise where a device is revoked, or beyond the messages it may send; count none.

        Its bytes are for what it sends itself: a gateway that is beyond them may bring messages.
        """
        overrides = self._overrides()
        _is_quarantined(device_id, overrides, now_ms)
        rate_limits = overrides.rate_limits_of(device_id, of_stage=self._of_stage)
        with self._lock:
            left_s = self._kept(device_id, now_ms).hard.left_at(now_ms / 1_000)
        if rate_limits is not None and left_s < _MINUTE_S / rate_limits.hard_per_minute:
            raise TooManyMessagesError(device_id, rate_limits.hard_per_minute)

    def charge(self, device_id: str, messages: int, *, now_ms: int) -> None:
        """Count messages of a device, also more than it has left: for what was done already."""
        rate_limits = self._overrides().rate_limits_of(device_id, of_stage=self._of_stage)
        if rate_limits is not None and messages:
            charged_s = messages * _MINUTE_S / rate_limits.hard_per_minute
            with self._lock:
                self._kept(device_id, now_ms).hard.overdraw(now_ms / 1_000, charged_s)

    def _decision(
        self, device_id: str, rate_limits: RateLimits, now_ms: int, body_bytes: int
    ) -> tuple[RateDecision, Allowances]:
        with self._lock:
            allowances = self._kept(device_id, now_ms)
            decision = allowances.spend_one(rate_limits, now_ms=now_ms, body_bytes=body_bytes)
            reported_ms = allowances.reported_ms
            is_to_be_reported = decision is not RateDecision.ACCEPTED and (
                reported_ms is None or abs(now_ms - reported_ms) >= _REPORTED_EVERY_MS
            )
            if is_to_be_reported:
                allowances.reported_ms = now_ms
        if is_to_be_reported:
            self._on_over_rate_limit(device_id, decision)
        return decision, allowances

    def _kept(self, device_id: str, now_ms: int) -> Allowances:
        kept = self._allowances.pop(device_id, None) or Allowances.full(now_ms)
        self._allowances[device_id] = kept
        if len(self._allowances) > self._devices_max:
            self._allowances.popitem(last=False)
        return kept


def _is_quarantined(device_id: str, overrides: Overrides, now_ms: int, stream: str = "") -> bool:
    """Raises ``RevokedDeviceError`` where it is revoked instead."""
    restriction = overrides.restriction(device_id, now_ms=now_ms, stream=stream)
    if restriction is Restriction.REVOKED:
        raise RevokedDeviceError(device_id)
    return restriction is Restriction.QUARANTINED
