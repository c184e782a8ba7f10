"""Ids of canonical events, by what their flow says makes two events the same."""

from collections import Counter
from collections.abc import Callable, Mapping

import orjson

from fleetlane.events.canonical import MessageFacts
from fleetlane.events.envelope import Message
from fleetlane.events.flows.flow import IdentityRule
from fleetlane.events.ids import hashed_id

type EventIdOf = Callable[[Mapping[str, object]], str]
"""Gives the events of one message their ids; called once for each, in order."""


def event_ids(message: Message | MessageFacts, rule: IdentityRule) -> EventIdOf:
    """How the events of ``message`` get their ids: equal bytes parsed again give equal ids.

    ``message``: raw id and ordinal. ``fields``: hashed from device, stream and the named fields,
    so that a resend with other bytes around the same reading is found. ``content``: hashed from
    device, stream and the whole event. The last two end in an ordinal among equals of one message.
    """
    if rule.by == "message":
        return _by_ordinal(message.raw_id)
    sender = (message.device_id.encode(), message.stream.encode())
    if rule.by == "fields":
        return _by_hash(lambda event: (*sender, *(_json(event.get(name)) for name in rule.fields)))
    return _by_hash(lambda event: (*sender, _json(dict(event))))


def _by_ordinal(raw_id: str) -> EventIdOf:
    ordinal = -1

    def next_id(_: Mapping[str, object]) -> str:
        nonlocal ordinal
        ordinal += 1
        return f"{raw_id}-{ordinal}"

    return next_id


def _by_hash(fields_of: Callable[[Mapping[str, object]], tuple[bytes, ...]]) -> EventIdOf:
    seen: Counter[str] = Counter()

    def hashed(event: Mapping[str, object]) -> str:
        digest = hashed_id(fields_of(event))
        seen[digest] += 1
        return f"{digest}-{seen[digest] - 1}"

    return hashed


def _json(value: object) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
