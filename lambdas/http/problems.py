"""Errors as the caller sees them: RFC 9457 problems, each with a tag that never changes."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from fleetlane.events.errors import ProblemTag
from lambdas.http.device_request import (
    BadRequestError,
    NoRouteError,
    RevokedError,
    UnauthenticatedError,
)

PROBLEM_CONTENT_TYPE: Final = "application/problem+json"
_TYPE_PREFIX: Final = "urn:fleetlane:problem:"
_RETRY_AFTER_S: Final = {ProblemTag.TRY_LATER: (5, 15), ProblemTag.SLOW_DOWN: (10, 60)}
"""From how many seconds to how many. An outage is over soon; a herd must spread out."""

OF_REQUESTS: Final[Mapping[type[Exception], ProblemTag]] = {
    BadRequestError: ProblemTag.BAD_REQUEST,
    UnauthenticatedError: ProblemTag.UNAUTHENTICATED,
    RevokedError: ProblemTag.FORBIDDEN,
    NoRouteError: ProblemTag.NO_ROUTE,
}
"""Errors that any request of a device can have."""

_TITLES: Final = {
    ProblemTag.BAD_REQUEST: "The request is not allowed as it is",
    ProblemTag.UNAUTHENTICATED: "The device did not prove who it is",
    ProblemTag.FORBIDDEN: "The device may not send",
    ProblemTag.NO_ROUTE: "There is nothing at this address",
    ProblemTag.TOO_LARGE: "The body is too large",
    ProblemTag.SLOW_DOWN: "Too many requests",
    ProblemTag.TRY_LATER: "The message could not be kept",
}
_NOTHING_ACKNOWLEDGED: Final = "Nothing was acknowledged; send the same message again."


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """An answer to a request that was refused. ``retry_after_s`` says when to send it again."""

    tag: ProblemTag
    detail: str
    retry_after_s: int | None = None

    def members(self) -> dict[str, str | int]:
        """The members of its JSON."""
        return {
            "type": _TYPE_PREFIX + self.tag,
            "title": _TITLES[self.tag],
            "status": self.tag.status,
            "detail": self.detail,
        }

    def body(self) -> str:
        return json.dumps(self.members())


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemTable:
    """Which error has which tag, in one function."""

    tags: Mapping[type[Exception], ProblemTag]

    def has(self, error: Exception) -> bool:
        """Whether an error is expected."""
        return type(error) in self.tags

    def problem_of(self, error: Exception, *, jitter: Callable[[int, int], int]) -> Problem:
        """Translate an error; one that is not expected is our own, and worth another try.

        ``jitter`` picks from a range, both ends included: so a fleet does not come back at once.
        """
        tag = self.tags.get(type(error), ProblemTag.TRY_LATER)
        if tag in _RETRY_AFTER_S:
            detail = str(error) if tag is ProblemTag.SLOW_DOWN else _NOTHING_ACKNOWLEDGED
            return Problem(tag=tag, detail=detail, retry_after_s=jitter(*_RETRY_AFTER_S[tag]))
        return Problem(tag=tag, detail=str(error))
