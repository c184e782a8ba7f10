"""A canonical record's value, written at once: the platform writes its parts in two processes."""

from fleetlane.events.canonical import EventTime, canonical_tail


def canonical_value(prefix: bytes, *, event_id: str, time: EventTime, data: bytes) -> bytes:
    """Write one canonical event: ``prefix`` of its message, then what is its own."""
    return b'%b,"id":"%b",%b' % (prefix, event_id.encode(), canonical_tail(time, data))
