"""The root of every error of ours, and the closed tables of reasons that other systems read."""

from enum import StrEnum
from typing import ClassVar


class FleetlaneError(Exception):
    """Something that Fleetlane refuses or could not do, with a stable ``reason``.

    ``reason`` is a metric label, a log field and a header value; its text never changes.
    Subclasses hand every field to ``super().__init__``, or they could not cross a process.
    """

    reason: ClassVar[str] = "fleetlane_error"


class ParkedReason(StrEnum):
    """Why a message stands in ``parked``. Closed: consumers may switch over it."""

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
    BAD_ENVELOPE = "bad_envelope"


class ProblemTag(StrEnum):
    """The last part of an RFC 9457 problem's ``type``. Closed: firmware may switch over it."""

    BAD_REQUEST = "bad_request"
    UNAUTHENTICATED = "unauthenticated"
    FORBIDDEN = "forbidden"
    NO_ROUTE = "no_route"
    TOO_LARGE = "too_large"
    SLOW_DOWN = "slow_down"
    TRY_LATER = "try_later"

    @property
    def status(self) -> int:
        """The HTTP status that always goes with this tag."""
        return _STATUSES[self]


_STATUSES = {
    ProblemTag.BAD_REQUEST: 400,
    ProblemTag.UNAUTHENTICATED: 401,
    ProblemTag.FORBIDDEN: 403,
    ProblemTag.NO_ROUTE: 404,
    ProblemTag.TOO_LARGE: 413,
    ProblemTag.SLOW_DOWN: 429,
    ProblemTag.TRY_LATER: 503,
}
