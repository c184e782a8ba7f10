"""The root of every error of ours, and the closed tables of reasons that other systems read."""

import re
from enum import StrEnum
from typing import Any, ClassVar, Self, dataclass_transform, get_origin


@dataclass_transform(eq_default=False)
class FleetlaneError(Exception):
    """Something that Fleetlane refuses or could not do, with a stable ``reason``.

    ``reason`` is a metric label, a log field and a header value; its text never changes. That of
    ``NotDurableError`` is ``not_durable``, as the class declares no other; one that extends such an
    error has the same, unless it declares its own. A subclass declares its fields as a dataclass
    does, and ``sentence`` as a format of them. Fields become the exception's ``args`` too, so that
    it survives pickling on its way out of a Spark worker.
    """

    reason: ClassVar[str] = "fleetlane_error"
    sentence: ClassVar[str] = ""
    _fields: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        if FleetlaneError in cls.__bases__ and "reason" not in vars(cls):
            cls.reason = re.sub("(?<=.)(?=[A-Z])", "_", cls.__name__.removesuffix("Error")).lower()
        annotations: dict[str, Any] = cls.__annotations__
        own = (name for name, kind in annotations.items() if get_origin(kind) is not ClassVar)
        cls._fields = tuple(dict.fromkeys((*cls._fields, *own)))

    def __init__(self, *args: object, **named: object) -> None:
        if not self._fields:
            super().__init__(*args)
            return
        given = dict(zip(self._fields, args, strict=False)) | named
        values = {one: given[one] if one in given else getattr(self, one) for one in self._fields}
        super().__init__(*values.values())
        vars(self).update(values)

    def __str__(self) -> str:
        return self.sentence.format_map(vars(self)) if self.sentence else super().__str__()


class ParkedReason(StrEnum):
    """Why a message is in ``parked``. Closed: consumers may switch over it."""

    MALFORMED = "malformed"
    PARSER_FAILED = "parser_failed"
    TIMEOUT = "timeout"
    MEMORY = "memory"
    CRASHED = "crashed"
    TOO_MANY_EVENTS = "too_many_events"
    EVENT_TOO_LARGE = "event_too_large"
    TOO_LARGE = "too_large"
    PAYLOAD_MISSING = "payload_missing"
    PAYLOAD_CORRUPT = "payload_corrupt"
    NO_FLOW = "no_flow"
    UNEXPECTED_DEVICE = "unexpected_device"
    BAD_ENVELOPE = "bad_envelope"


class ProblemTag(StrEnum):
    """The last part of an RFC 9457 problem's ``type``. Closed: firmware may switch over it.

    ``status`` is the HTTP status that always goes with it, ``headline`` the problem's title.
    """

    status: int
    headline: str

    BAD_REQUEST = "bad_request", 400, "The request is not allowed as it is"
    UNAUTHENTICATED = "unauthenticated", 401, "The device did not prove who it is"
    FORBIDDEN = "forbidden", 403, "The device may not send"
    NO_ROUTE = "no_route", 404, "There is nothing at this address"
    NO_METHOD = "no_method", 405, "This address takes another method"
    TOO_LARGE = "too_large", 413, "The body is too large"
    SLOW_DOWN = "slow_down", 429, "Too many requests"
    TRY_LATER = "try_later", 503, "The message could not be kept"

    def __new__(cls, tag: str, status: int, headline: str) -> Self:
        member = str.__new__(cls, tag)
        member._value_, member.status, member.headline = tag, status, headline
        return member
