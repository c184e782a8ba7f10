"""Canary messages: known in advance, sent through the real door, and looked for at the far end.

A device of our own sends one message for each lane and minute. What it sends is a function of the
minute alone, and so are the ids that there must be afterwards.
"""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from fleetlane.events.lanes import LATE_AFTER_MS, Lane, LaneFacts, lane_for
from fleetlane.events.names import keyed_raw_id
from fleetlane.events.times import HOUR_MS

DEVICE_ID: Final = "fleetlane-canary"
"""The one device that is none of the fleet: it is in no answer about the fleet."""

DEVICE_TYPE: Final = "canary"
INTERVAL_MS: Final = 60_000
STREAM: Final = "canary"
SLOW_STREAM: Final = "canary-slow"
STREAMS: Final = frozenset({STREAM, SLOW_STREAM})
"""Streams of the canary alone; their flows are ``flows/canary*.toml``."""


class Route(StrEnum):
    """A way through the platform that is tried: by what its message asks for, and declares."""

    FAST = "fast"
    STANDARD = "standard"
    LATE = "late"
    SLOW = "slow"


@dataclass(frozen=True, slots=True, kw_only=True)
class CanaryMessage:
    """The message of a route for the minute, or on a laptop less, that began at ``slot_ms``."""

    route: Route
    slot_ms: int

    @property
    def stream(self) -> str:
        return SLOW_STREAM if self.route is Route.SLOW else STREAM

    @property
    def asked(self) -> Lane:
        """The lane of the endpoint that takes it."""
        return Lane.FAST if self.route is Route.FAST else Lane.STANDARD

    @property
    def idempotency_key(self) -> str:
        return f"canary-{self.slot_ms}-{self.route}"

    @property
    def end_millis(self) -> int | None:
        """The declared end of its data: that of the late one is an hour older than late is."""
        return self.slot_ms - LATE_AFTER_MS - HOUR_MS if self.route is Route.LATE else None

    @property
    def body(self) -> bytes:
        return json.dumps({"at_ms": self.slot_ms, "route": self.route}).encode()

    @property
    def sha256(self) -> str:
        """The digest of the body, in lower-case hexadecimal."""
        return hashlib.sha256(self.body).hexdigest()

    @property
    def raw_id(self) -> str:
        return keyed_raw_id(
            DEVICE_ID, self.stream, self.idempotency_key, bytes.fromhex(self.sha256)
        )

    @property
    def lane(self) -> Lane:
        """The lane in which it lands, unless somebody quarantined the device."""
        declared = Lane.SLOW if self.route is Route.SLOW else Lane.FAST
        age_ms = None if self.end_millis is None else self.slot_ms - self.end_millis
        return lane_for(LaneFacts(asked=self.asked, declared=declared, data_age_ms=age_ms))


def slot_at(at_ms: int, *, interval_ms: int = INTERVAL_MS) -> int:
    """When the slot began that a time is in."""
    return at_ms - at_ms % interval_ms


def messages_of(slot_ms: int) -> tuple[CanaryMessage, ...]:
    """What is sent for the slot that began then: a message a route, all lanes among them."""
    return tuple(CanaryMessage(route=route, slot_ms=slot_ms) for route in Route)


def messages_between(from_ms: int, to_ms: int) -> Iterator[CanaryMessage]:
    """What is sent for all minutes that began from ``from_ms`` on and before ``to_ms``."""
    for slot_ms in range(slot_at(from_ms + INTERVAL_MS - 1), to_ms, INTERVAL_MS):
        yield from messages_of(slot_ms)


def is_canary(device_id: str) -> bool:
    """Whether a device is none of the fleet."""
    return device_id == DEVICE_ID
