"""Canonical events as topics have them."""

from typing import Any

import msgspec

from fleetlane.events.canonical import CanonicalEvent, TimeQuality
from fleetlane.events.envelope import SOURCE_PREFIX


def an_event(event_id: str = "e-1", **facts: Any) -> CanonicalEvent:
    usual = {
        "specversion": "1.0",
        "source": f"{SOURCE_PREFIX}d-1",
        "type": "gps",
        "rawid": "m-1",
        "arrivalmillis": "1800000000000",
        "parser": "json@1",
        "revision": 0,
        "timequality": TimeQuality.MISSING,
        "data": {"speed": 1},
    }
    return CanonicalEvent(id=event_id, **{**usual, **facts})


def record_of(event: CanonicalEvent) -> bytes:
    return msgspec.json.encode(event)
