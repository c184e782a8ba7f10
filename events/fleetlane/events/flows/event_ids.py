"""Ids and times of canonical events, as their flow declares them."""

from collections import Counter
from collections.abc import Callable, Mapping
from itertools import count

import orjson

from fleetlane.events.canonical import EventTime, MessageFacts, TimeQuality
from fleetlane.events.envelope import Message
from fleetlane.events.flows.flow import EventTimeRule, IdentityRule, TimeUnit
from fleetlane.events.names import hashed_id
from fleetlane.events.times import MILLIS_MAX, MILLIS_MIN, millis_from_rfc3339

type EventIdOf = Callable[[Mapping[str, object]], str]
"""Gives the events of one message their ids; called once for each, in order."""


def event_ids(message: Message | MessageFacts, rule: IdentityRule) -> EventIdOf:
    """How the events of ``message`` get their ids: equal bytes parsed again give equal ids.

    ``message``: raw id and ordinal. ``fields``: hashed from device, stream and the named fields,
    so that a resend with other bytes around the same reading is found. ``content``: hashed from
    device, stream and the whole event. The last two end in an ordinal among equals of one message.
    """
    if rule.by == "message":
        prefix, ordinals = ordinals_prefix(message), count()
        return lambda _: f"{prefix}{next(ordinals)}"
    sender = (message.device_id.encode(), message.stream.encode())
    if rule.by == "fields":
        return _by_hash(lambda event: (*sender, *(_json(event.get(name)) for name in rule.fields)))
    return _by_hash(lambda event: (*sender, _json(dict(event))))


def ordinals_prefix(message: Message | MessageFacts) -> str:
    """What comes before the ordinal in an id by ``message``."""
    return f"{message.raw_id}-"


def _by_hash(fields_of: Callable[[Mapping[str, object]], tuple[bytes, ...]]) -> EventIdOf:
    seen: Counter[str] = Counter()

    def hashed(event: Mapping[str, object]) -> str:
        digest = hashed_id(fields_of(event))
        seen[digest] += 1
        return f"{digest}-{seen[digest] - 1}"

    return hashed


def _json(value: object) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def event_time_of(
    event: Mapping[str, object], rule: EventTimeRule | None, *, arrival_millis: int
) -> EventTime:
    """Read an event's time by its flow's rule. Clocks are flagged, never corrected."""
    if rule is None:
        return EventTime(None, TimeQuality.MISSING, arrival_millis)
    path = rule.path  # one field, and milliseconds: as nearly all are
    is_flat, is_millis = len(path) == 1, rule.unit is TimeUnit.MILLISECONDS
    value = event.get(path[0]) if is_flat and type(event) is dict else _at(event, path)
    millis = value if is_millis and type(value) is int else _millis(value, rule.unit)
    if millis is None or not MILLIS_MIN <= millis <= MILLIS_MAX:
        return EventTime(None, TimeQuality.MISSING, arrival_millis)
    if millis > arrival_millis + rule.future_after_s * 1000:
        return EventTime(millis, TimeQuality.FUTURE, arrival_millis)
    if millis < arrival_millis - rule.ancient_after_s * 1000:
        return EventTime(millis, TimeQuality.ANCIENT, arrival_millis)
    return EventTime(millis, TimeQuality.OK, millis)


def _at(event: Mapping[str, object], path: tuple[str, ...]) -> object:
    value: object = event
    for name in path:
        if not isinstance(value, Mapping):
            return None
        value = value.get(name)
    return value


def _millis(value: object, unit: TimeUnit) -> int | None:
    if unit is TimeUnit.RFC3339:
        return millis_from_rfc3339(value) if isinstance(value, str) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    millis = value * 1000 if unit is TimeUnit.SECONDS else value
    if not MILLIS_MIN <= millis <= MILLIS_MAX:  # nor is NaN
        return None
    return round(millis)  # 1.001 s times 1000 is a hair less than 1001
