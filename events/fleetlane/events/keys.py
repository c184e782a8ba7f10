"""Keys of Kafka records: what decides a record's partition."""

from enum import StrEnum

from fleetlane.events.times import hour_bucket


class CanonicalKey(StrEnum):
    """How a flow's canonical events are keyed."""

    DEVICE_HOUR = "device_hour"
    DEVICE = "device"
    EVENT_MILLIS = "event_millis"


def raw_key(arrival_millis: int) -> bytes:
    """Key of a raw record: an even spread, whatever a device does."""
    return b"%d" % arrival_millis


def canonical_key(kind: CanonicalKey, *, device_id: str, bucket_millis: int) -> bytes:
    """Key of a canonical event.

    ``bucket_millis`` is its event time, or its arrival time where the event time is not to be
    trusted. ``device_hour`` gives ``d-17/2026-11-03T14``.
    """
    match kind:
        case CanonicalKey.DEVICE_HOUR:
            return f"{device_id}/{hour_bucket(bucket_millis)}".encode()
        case CanonicalKey.DEVICE:
            return device_id.encode()
        case CanonicalKey.EVENT_MILLIS:
            return b"%d" % bucket_millis
