"""What the fleet is told by: one frozen row type for each question."""

from dataclasses import dataclass
from datetime import date


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """How many of the ``registered`` devices were heard in the last ``days``.

    ``heard`` sent at least one message themselves. ``through_gateway`` did not, but a gateway
    brought a message of theirs: that says that the gateway lives. ``unregistered`` sent, and are
    not in the registry, or revoked.
    """

    days: int
    registered: int
    heard: int
    through_gateway: int
    unregistered: int

    @property
    def share(self) -> float | None:
        """``heard`` of ``registered``; ``None`` where nobody is registered."""
        return self.heard / self.registered if self.registered else None


@dataclass(frozen=True, slots=True, kw_only=True)
class DayHeard:
    """The registered devices heard on one day (UTC), as in ``Coverage``."""

    day: date
    heard: int
    through_gateway: int
    messages: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceSeen:
    """A registered device, and when it was heard last; ``last_ms`` is ``None`` where it never was.

    ``gateway_ms`` is when a gateway last brought a message of it.
    """

    device_id: str
    device_type: str
    status: str
    gateway_id: str | None
    registered_ms: int
    last_ms: int | None
    gateway_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LateDevice:
    """A device and its lag: arrival less the end of the data as the device declared it."""

    device_id: str
    device_type: str | None
    messages: int
    late: int
    median_lag_ms: int

    @property
    def share(self) -> float:
        return self.late / self.messages


@dataclass(frozen=True, slots=True, kw_only=True)
class Bin:
    """Messages over ``low``, and up to ``high``, which is part of it; ``None`` is an open end."""

    low: int | None
    high: int | None
    messages: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantiles:
    """Of ``count`` values. A quantile is a value that is there, the least with its share below."""

    count: int
    total: int
    p50: int | None
    p95: int | None
    p99: int | None
    max: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FirmwareHealth:
    """Messages by the firmware that they declared; each by its final outcome."""

    firmware: str | None
    messages: int
    malformed: int
    parked: int

    @property
    def malformed_share(self) -> float:
        return self.malformed / self.messages


@dataclass(frozen=True, slots=True, kw_only=True)
class ParserTime:
    """Microseconds an attempt, of the attempts that a parser was really asked for."""

    parser: str
    attempts: int
    p50_us: int
    p95_us: int
    p99_us: int
    max_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Compression:
    """Bytes that came over the wire, and what they were once unpacked.

    ``messages`` are all; the bytes are of those whose attempt that counts was unpacked.
    """

    stream: str
    messages: int
    body_bytes: int
    inflated_bytes: int

    @property
    def ratio(self) -> float | None:
        return self.inflated_bytes / self.body_bytes if self.body_bytes else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """Time for which a device declared no data, between two spans that it declared."""

    device_id: str
    stream: str
    from_ms: int
    to_ms: int

    @property
    def length_ms(self) -> int:
        return self.to_ms - self.from_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceDay:
    """What one device sent on one day (UTC) to one stream."""

    day: date
    stream: str
    messages: int
    body_bytes: int
    through_gateway: int
    firmware: str | None
    parsed: int
    empty: int
    parked: int
    last_ms: int
