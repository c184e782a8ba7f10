"""Canary messages: known in advance, sent through the real door, and looked for at the far end.

A device of our own sends one message for each lane and minute. What it sends is a function of the
minute alone, and so are the ids that there must be afterwards.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import product
from typing import Final

from fleetlane.events.lanes import INLINE_BYTES_MAX, LATE_AFTER_MS, Lane, LaneFacts, lane_for
from fleetlane.events.names import keyed_raw_id
from fleetlane.events.times import HOUR_MS

DEVICE_ID: Final = "fleetlane-canary"
VERIFIER_ID: Final = "fleetlane-verify"
"""The device of ``fleetlane verify``, which sends what the canary sends, and two messages more."""

OWN_DEVICES: Final = (DEVICE_ID, VERIFIER_ID)
"""Devices that are none of the fleet: they are in no answer about the fleet."""

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
    LARGE = "large"
    UPLOADED = "uploaded"


EACH_MINUTE: Final = (Route.FAST, Route.STANDARD, Route.LATE, Route.SLOW)
"""What the canary tries: all lanes, and nothing that would fill a bucket."""

_LARGE: Final = (Route.LARGE, Route.UPLOADED)


@dataclass(frozen=True, slots=True, kw_only=True)
class CanaryMessage:
    """The message of a route for the minute, or on a laptop less, that began at ``slot_ms``."""

    route: Route
    slot_ms: int
    device_id: str = DEVICE_ID

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
        text = json.dumps(self.content)
        return text.encode().ljust(INLINE_BYTES_MAX + 1 if self.route in _LARGE else 0)

    @property
    def content(self) -> Mapping[str, object]:
        """What the body says, and the event that it becomes."""
        return {"at_ms": self.slot_ms, "route": self.route.value}

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.body).hexdigest()

    @property
    def raw_id(self) -> str:
        digest = bytes.fromhex(self.sha256)
        return keyed_raw_id(self.device_id, self.stream, self.idempotency_key, digest)

    @property
    def lane(self) -> Lane:
        """The lane in which it lands, unless somebody quarantined the device."""
        declared = Lane.SLOW if self.route is Route.SLOW else Lane.FAST
        age_ms = None if self.end_millis is None else self.slot_ms - self.end_millis
        facts = LaneFacts(
            asked=self.asked, declared=declared, body_bytes=len(self.body), data_age_ms=age_ms
        )
        return lane_for(facts)


def slot_at(at_ms: int, *, interval_ms: int = INTERVAL_MS) -> int:
    """When the slot began that a time is in."""
    return at_ms - at_ms % interval_ms


def messages_of(slot_ms: int) -> tuple[CanaryMessage, ...]:
    """What is sent for the slot that began then: a message a route, all lanes among them."""
    return tuple(CanaryMessage(route=route, slot_ms=slot_ms) for route in EACH_MINUTE)


def messages_to_verify(at_ms: int) -> tuple[CanaryMessage, ...]:
    """Ten messages: each of the canary's routes twice, a large body and an uploaded one."""
    slots = [*product((at_ms, at_ms + 1), EACH_MINUTE), *product((at_ms,), _LARGE)]
    return tuple(
        CanaryMessage(route=route, slot_ms=slot_ms, device_id=VERIFIER_ID)
        for slot_ms, route in slots
    )


def messages_between(from_ms: int, to_ms: int) -> Iterator[CanaryMessage]:
    """What is sent for all minutes that began from ``from_ms`` on and before ``to_ms``."""
    for slot_ms in range(slot_at(from_ms + INTERVAL_MS - 1), to_ms, INTERVAL_MS):
        yield from messages_of(slot_ms)
