"""Alerts: what was noticed about the fleet, one small JSON record each, on ``fleet.alerts``."""

from enum import StrEnum

import msgspec


class AlertKind(StrEnum):
    """What was noticed: a device sends far too much; or does so no longer."""

    OVER_CEILING = "over_ceiling"
    CALM = "calm"


class Alert(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A record of ``fleet.alerts``. A repeated one has an equal ``id``.

    Over its ceiling, a device sent ``messages`` of ``stream`` in ``window_s``, where
    ``messages_max`` are allowed; until ``quarantined_until_ms`` what it sends goes to the slow
    lane, and for longer if it goes on.
    """

    id: str
    kind: AlertKind
    at_ms: int
    device_id: str
    stream: str | None = None
    messages: int | None = None
    messages_max: int | None = None
    window_s: int | None = None
    quarantined_until_ms: int | None = None

    def to_json(self) -> bytes:
        """Write it; fields that say nothing are left out."""
        return msgspec.json.encode(self)


_alert = msgspec.json.Decoder(Alert)


def alert_from(value: bytes) -> Alert:
    """Read a record of ``fleet.alerts``; raises ``msgspec.DecodeError`` where it is none."""
    return _alert.decode(value)
