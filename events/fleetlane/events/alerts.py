"""Alerts: what was detected in the fleet, one small JSON record each, on ``fleet.alerts``."""

from enum import StrEnum

import msgspec


class AlertKind(StrEnum):
    """What was detected: a device sends far too much, or no longer does.

    Or fewer devices than usual send to a flow, or far more of its messages are parked.
    """

    OVER_RATE_LIMIT = "over_ceiling"
    CALM = "calm"
    LOW_COVERAGE = "low_coverage"
    MUCH_PARKED = "much_parked"


class Alert(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A record of ``fleet.alerts``. A repeated one has an equal ``id``.

    Over its rate limit, a device sent ``messages`` of ``stream`` in ``window_s``, where
    ``messages_max`` are allowed; until ``quarantined_until_ms`` what it sends goes to the slow
    lane, and for longer if it goes on.

    An alert about a flow has no ``device_id``, but the flow's ``owner``: in the ``window_s`` from
    ``from_ms`` on ``devices`` sent to it, where ``devices_min`` are usual; or of its ``messages``
    that have an outcome ``parked`` are parked, where ``parked_max`` would be usual.
    """

    id: str
    kind: AlertKind
    at_ms: int
    device_id: str | None = None
    stream: str | None = None
    owner: str | None = None
    from_ms: int | None = None
    devices: int | None = None
    devices_min: int | None = None
    parked: int | None = None
    parked_max: int | None = None
    messages: int | None = None
    messages_max: int | None = None
    window_s: int | None = None
    quarantined_until_ms: int | None = None

    @property
    def key(self) -> bytes:
        """What its record is keyed by: the device, or the stream where it is about a flow."""
        return (self.device_id or self.stream or "").encode()

    def to_json(self) -> bytes:
        """Write it; fields that are ``None`` are left out."""
        return msgspec.json.encode(self)
