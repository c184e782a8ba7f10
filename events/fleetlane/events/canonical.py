"""The canonical event: CloudEvents 1.0, structured JSON, one Kafka record each."""

import re
from collections.abc import Mapping
from enum import StrEnum
from math import isfinite
from typing import Final

import msgspec
import orjson

from fleetlane.events.attributes import some_attributes
from fleetlane.events.envelope import SOURCE_PREFIX, Message
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.times import rfc3339

CANONICAL_CONTENT_TYPE: Final = "application/cloudevents+json"
NAME_BYTES_MAX: Final = 32_000
"""Of a key, in UTF-8. Jackson, by which Spark reads events, refuses an event with a key of over
50,000, and the lake would lack it; less leaves room for how another reader counts."""

_LONG_STRING: Final = re.compile(rb'"[^"]{%d}' % (NAME_BYTES_MAX + 1))
_OK: Final = b'"timequality":"ok","data":'
_REFUSED: Final = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME


class NotJsonError(FleetlaneError):
    """A parser yielded a value that JSON does not have. The message is malformed."""

    reason = "malformed"
    problem: str
    sentence = "an event holds what JSON does not: {problem}"


class TimeQuality(StrEnum):
    """Whether an event's time is plausible. A bad one never drops the event.

    Scattered are a message's events on more days than its flow allows: a day is a partition.
    """

    OK = "ok"
    MISSING = "missing"
    FUTURE = "future"
    ANCIENT = "ancient"
    SCATTERED = "scattered"


class EventTime(msgspec.Struct, frozen=True, gc=False):
    """When an event happened. ``millis`` is as declared, ``None`` where it was not.

    ``bucket_millis`` is event time where its quality is ok, else arrival time.
    """

    millis: int | None
    quality: TimeQuality
    bucket_millis: int


class MessageFacts(msgspec.Struct, frozen=True, gc=False):
    """What canonical events take over from their message, and no more."""

    raw_id: str
    device_id: str
    stream: str
    arrival_millis: int
    revision: int = 0
    device_type: str | None = None
    firmware: str | None = None
    attributes: str | None = None


class CanonicalEvent(msgspec.Struct, frozen=True, kw_only=True):
    """A canonical event as read back. ``time`` is ``None`` for an event without one.

    ``arrivalmillis`` is decimal text: a CloudEvents Integer has only 32 bits. ``revision`` is
    raised by a replay with a newer parser, which replaces the same ``rawid``'s events downstream.
    """

    specversion: str
    id: str
    source: str
    type: str
    rawid: str
    arrivalmillis: str
    parser: str
    revision: int
    timequality: TimeQuality
    data: dict[str, object]
    time: str | None = None
    devicetype: str | None = None
    firmware: str | None = None


canonical_event_from: Final = msgspec.json.Decoder(CanonicalEvent).decode
"""Reads a canonical record's value, and ignores attributes that it does not know; raises
``msgspec.DecodeError`` where it is none."""


def event_data(event: Mapping[str, object]) -> bytes:
    """Write a parser's mapping as JSON.

    Raises ``NotJsonError`` at a number that is not finite or has over 64 bits, a value or key of a
    type that JSON does not have, or a key that is too long for the lake.
    """
    if type(event) is not dict and not isinstance(event, Mapping):
        raise NotJsonError(f"an event is a {type(event).__name__}, not a mapping")
    try:
        data = orjson.dumps(event if type(event) is dict else dict(event), option=_REFUSED)
    except TypeError as problem:
        raise NotJsonError(str(problem)) from None
    # orjson writes a number that is not finite as null; to look at each key costs much. ``in``
    # tries what it looks for as a number first, and takes four times as long.
    if data.find(b"null") >= 0 or (
        len(data) > NAME_BYTES_MAX and _LONG_STRING.search(data.replace(rb"\"", b"__"))
    ):
        _check(event)
    return data


def message_prefix(
    message: Message | MessageFacts, *, parser: str, attributes: tuple[str, ...] = ()
) -> bytes:
    """The attributes that all canonical events of one message share: the start of each.

    ``attributes`` are the names of those of its device that its flow takes along.
    """
    shared = {
        "specversion": "1.0",
        "source": SOURCE_PREFIX + message.device_id,
        "type": message.stream,
        "datacontenttype": "application/json",
        "rawid": message.raw_id,
        "arrivalmillis": str(message.arrival_millis),
        "parser": parser,
        "revision": message.revision,
    }
    if message.device_type:
        shared["devicetype"] = message.device_type
    if message.firmware:
        shared["firmware"] = message.firmware
    return orjson.dumps(shared)[:-1] + some_attributes(message.attributes, attributes)


def canonical_tail(time: EventTime, data: bytes) -> bytes:
    """What comes behind the id of a canonical event."""
    is_ok = time.quality is TimeQuality.OK
    quality = _OK if is_ok else b'"timequality":"%b","data":' % time.quality.encode()
    if time.millis is None:
        return b"".join((quality, data, b"}"))
    return b"".join((b'"time":"', rfc3339(time.millis).encode(), b'",', quality, data, b"}"))


def _check(value: object) -> None:
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, float) and not isfinite(one):
            raise NotJsonError(f"{one} is not finite")
        if isinstance(one, Mapping):
            longest = max((len(name.encode()) for name in one), default=0)
            if longest > NAME_BYTES_MAX:
                problem = f"a key has {longest} bytes; the limit is {NAME_BYTES_MAX} bytes"
                raise NotJsonError(problem)
            waiting.extend(one.values())
        elif isinstance(one, list | tuple):
            waiting.extend(one)
