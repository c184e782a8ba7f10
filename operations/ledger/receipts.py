"""What a device holds in its hand after a 202."""

from dataclasses import dataclass

from fleetlane.events.errors import ParkedReason


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """One 202 that a device saw, and what it knows of the message; ``None`` is not known.

    ``sha256`` is the digest, in hex, of the bytes sent. ``events`` is how many events they hold,
    ``parked`` the reason for which they should end parked.
    """

    raw_id: str
    sha256: str | None = None
    events: int | None = None
    parked: ParkedReason | None = None
