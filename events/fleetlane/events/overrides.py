"""Overrides: what applies to devices at once, before the cached answers for their tokens expire."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated, Final, Self

import msgspec
from msgspec import Meta, field
from msgspec.structs import replace

from fleetlane.events.errors import FleetlaneError
from fleetlane.events.names import is_device_id

OVERRIDES_BYTES_MAX: Final = 1 << 20
"""Some ten thousand devices. Every function reads it whole, every few seconds."""

MESSAGES_PER_MINUTE_MAX: Final = 1_000_000
BYTES_PER_MINUTE_MAX: Final = 1 << 40
type PerMinute = Annotated[int, Meta(ge=1, le=MESSAGES_PER_MINUTE_MAX)]
type BytesPerMinute = Annotated[int, Meta(ge=1, le=BYTES_PER_MINUTE_MAX)]

SOFT_BYTES_PER_MINUTE: Final = 16 << 20
HARD_BYTES_PER_MINUTE: Final = 32 << 20


class Restriction(StrEnum):
    """How a device is held back: into the bulk lane, or from sending at all."""

    QUARANTINED = "quarantined"
    REVOKED = "revoked"


class BadOverridesError(FleetlaneError):
    """What is to be overridden is not allowed, or what was read are no overrides."""

    problem: str
    sentence = "overrides: {problem}"


class RateLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How much a minute one device may send, as one running function counts it.

    Beyond ``soft_per_minute`` messages go to the bulk lane; beyond ``hard_per_minute`` they are
    refused. So it is with their bodies' bytes. A large body, which S3 holds instead of Kafka, is in
    the bulk lane anyway: a quarter of it counts, and for the hard limit alone.
    """

    soft_per_minute: PerMinute
    hard_per_minute: PerMinute
    soft_bytes_per_minute: BytesPerMinute = SOFT_BYTES_PER_MINUTE
    hard_bytes_per_minute: BytesPerMinute = HARD_BYTES_PER_MINUTE

    def __post_init__(self) -> None:
        for unit in ("", "bytes_"):
            soft, hard = (getattr(self, f"{one}_{unit}per_minute") for one in ("soft", "hard"))
            if soft > hard:
                names = f"`soft_{unit}per_minute` {soft} is over `hard_{unit}per_minute` {hard}"
                raise ValueError(names)


class DeviceOverride(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One device's restriction. ``until_ms`` is when it ends by itself; ``None``: never.

    ``cause`` says which job is holding it back; ``None``: an operator. ``stream``: to no other.
    """

    status: Restriction
    until_ms: int | None = None
    cause: str | None = None
    stream: str | None = None

    def is_over(self, now_ms: int) -> bool:
        return self.until_ms is not None and self.until_ms <= now_ms


class Overrides(msgspec.Struct, frozen=True, kw_only=True):
    """All overrides, by device id. ``version`` is raised by each change.

    ``rate_limits``, where they are set, stand for all devices in place of the stage's own, and
    ``device_rate_limits`` for one. Unknown fields are ignored: an older function must be able to
    read what a newer command wrote.
    """

    version: int = 0
    devices: dict[str, DeviceOverride] = field(default_factory=dict)
    rate_limits: RateLimits | None = field(default=None, name="ceilings")
    device_rate_limits: dict[str, RateLimits] = field(default_factory=dict, name="device_ceilings")

    def __post_init__(self) -> None:
        for device_id in (*self.devices, *self.device_rate_limits):
            if not is_device_id(device_id):
                raise ValueError(f"{device_id[:80]!r} is no device id")

    def restriction(self, device_id: str, *, now_ms: int, stream: str = "") -> Restriction | None:
        """Of what a device sends to a ``stream``, or to any."""
        found = self.devices.get(device_id)
        if found is None or (stream and found.stream not in (None, stream)):
            return None
        return None if found.is_over(now_ms) else found.status

    def rate_limits_of(self, device_id: str, *, of_stage: RateLimits | None) -> RateLimits | None:
        """The device's own rate limits, else those of all devices, else the stage's."""
        return self.device_rate_limits.get(device_id) or self.rate_limits or of_stage

    def restricted(self, device_ids: Iterable[str], override: DeviceOverride) -> Self:
        """Hold devices back; what held one of them back before is replaced."""
        return replace(self, devices=self.devices | dict.fromkeys(device_ids, override))

    def released(self, device_ids: Iterable[str]) -> Self:
        gone = frozenset(device_ids)
        kept = {one: override for one, override in self.devices.items() if one not in gone}
        return replace(self, devices=kept)

    def with_rate_limits(self, rate_limits: RateLimits | None, *, device_id: str | None) -> Self:
        """Set the rate limits of one device, or of all; ``None`` for those of the next wider."""
        if device_id is None:
            return replace(self, rate_limits=rate_limits)
        others = {one: held for one, held in self.device_rate_limits.items() if one != device_id}
        own = {} if rate_limits is None else {device_id: rate_limits}
        return replace(self, device_rate_limits=others | own)

    def next_version(self, *, now_ms: int) -> Self:
        """The same without what has ended, under the number that comes next."""
        kept = {one: held for one, held in self.devices.items() if not held.is_over(now_ms)}
        return replace(self, devices=kept, version=self.version + 1)

    def to_json(self) -> bytes:
        """Write them; raises ``BadOverridesError`` where nobody could read them."""
        written = msgspec.json.encode(self)
        overrides_from_json(written)  # which looks at each limit: a constructor does not
        return written


def overrides_from_json(text: bytes) -> Overrides:
    """Read what ``Overrides.to_json`` wrote; raises ``BadOverridesError``."""
    if len(text) > OVERRIDES_BYTES_MAX:
        problem = f"they are {len(text)} bytes; the limit is {OVERRIDES_BYTES_MAX} bytes"
        raise BadOverridesError(problem)
    try:
        return msgspec.json.decode(text, type=Overrides)
    except (msgspec.MsgspecError, RecursionError) as problem:
        raise BadOverridesError(str(problem)) from None
