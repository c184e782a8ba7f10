"""Errors as the caller sees them: RFC 9457 problems, each with a tag that never changes."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from aws_lambda_powertools.event_handler.exceptions import NotFoundError

from clients.device_request import (
    BadRequestError,
    NoRouteError,
    RevokedError,
    UnauthenticatedError,
)
from clients.flow_store import FlowsUnavailableError
from clients.issued_upload import UploadTooLargeError
from clients.kafka_producer import NotDurableError
from clients.payload_bucket import PayloadTooLargeError, PayloadUnavailableError
from fleetlane.events.errors import ProblemTag

PROBLEM_CONTENT_TYPE: Final = "application/problem+json"
_TYPE_PREFIX: Final = "urn:fleetlane:problem:"
_RETRY_AFTER_S_MIN: Final = 5
_RETRY_AFTER_S_MAX: Final = 15

_TAGS: Final[dict[type[Exception], ProblemTag]] = {
    BadRequestError: ProblemTag.BAD_REQUEST,
    UnauthenticatedError: ProblemTag.UNAUTHENTICATED,
    RevokedError: ProblemTag.FORBIDDEN,
    NoRouteError: ProblemTag.NO_ROUTE,
    NotFoundError: ProblemTag.NO_ROUTE,
    PayloadTooLargeError: ProblemTag.TOO_LARGE,
    UploadTooLargeError: ProblemTag.TOO_LARGE,
    PayloadUnavailableError: ProblemTag.TRY_LATER,
    FlowsUnavailableError: ProblemTag.TRY_LATER,
    NotDurableError: ProblemTag.TRY_LATER,
}
_TITLES: Final = {
    ProblemTag.BAD_REQUEST: "The request is not allowed as it is",
    ProblemTag.UNAUTHENTICATED: "The device did not prove who it is",
    ProblemTag.FORBIDDEN: "The device may not send",
    ProblemTag.NO_ROUTE: "There is nothing at this address",
    ProblemTag.TOO_LARGE: "The body is too large",
    ProblemTag.SLOW_DOWN: "Too many requests",
    ProblemTag.TRY_LATER: "The message could not be kept",
}
_UPLOAD_INSTEAD: Final = "POST /v1/uploads/{stream} takes more"
_OWN_AFFAIR: Final = "Nothing was acknowledged; send the same message again."


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """An answer to a request that was refused. ``retry_after_s`` says when to send it again."""

    tag: ProblemTag
    detail: str
    retry_after_s: int | None = None

    def body(self) -> str:
        return json.dumps(
            {
                "type": _TYPE_PREFIX + self.tag,
                "title": _TITLES[self.tag],
                "status": self.tag.status,
                "detail": self.detail,
            }
        )


def is_expected(error: Exception) -> bool:
    """Whether an error has its place in the table."""
    return type(error) in _TAGS


def problem_of(error: Exception, *, jitter: Callable[[int, int], int]) -> Problem:
    """Translate an error; one that is not in the table is our own, and worth another try.

    ``jitter`` picks from a range, both ends included, so that a fleet does not come back at once.
    """
    tag = _TAGS.get(type(error), ProblemTag.TRY_LATER)
    if tag in {ProblemTag.TRY_LATER, ProblemTag.SLOW_DOWN}:
        seconds = jitter(_RETRY_AFTER_S_MIN, _RETRY_AFTER_S_MAX)
        return Problem(tag=tag, detail=_OWN_AFFAIR, retry_after_s=seconds)
    return Problem(tag=tag, detail=_detail(error))


def _detail(error: Exception) -> str:
    match error:
        case NotFoundError():
            return "no such path and method"
        case PayloadTooLargeError():
            return f"{error}; {_UPLOAD_INSTEAD}"
        case _:
            return str(error)
