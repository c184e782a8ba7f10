"""The outcomes of a message in the sandbox, and the result of one attempt."""

from enum import IntEnum
from typing import Final, NamedTuple

from fleetlane.events.errors import FleetlaneError, ParkedReason

DETAIL_CHARS_MAX: Final = 1024


class Verdict(IntEnum):
    """The outcome of one message, as a number that crosses between processes.

    ``NOT_TRIED``: its flow has used up its time in this batch. ``CHILDREN_USED_UP``: not tried
    either: its parser is over its respawn rate limit.
    """

    OK = 0
    MALFORMED = 1
    PARSER_FAILED = 2
    TIMEOUT = 3
    MEMORY = 4
    CRASHED = 5
    TOO_MANY_EVENTS = 6
    EVENT_TOO_LARGE = 7
    TOO_LARGE = 8
    NOT_TRIED = 9
    CHILDREN_USED_UP = 10

    @property
    def reason(self) -> ParkedReason | None:
        if self in (Verdict.OK, Verdict.NOT_TRIED, Verdict.CHILDREN_USED_UP):
            return None
        return ParkedReason(self.name.lower())


class Attempt(NamedTuple):
    """What came of one attempt at a message. Only ``OK`` has events.

    ``first_event_ms`` and ``last_event_ms`` span the events whose time is plausible.
    """

    verdict: Verdict
    detail: str = ""
    events: int = 0
    parse_us: int = 0
    first_event_ms: int | None = None
    last_event_ms: int | None = None


class OverLimitError(FleetlaneError):
    """A message's events are too many or too large."""

    reason = "over_limit"
    verdict: Verdict
    detail: str
    sentence = "{detail}"
