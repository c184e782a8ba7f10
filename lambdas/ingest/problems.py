"""Errors as the caller sees them: RFC 9457 problems, each with a tag that never changes."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from aws_lambda_powertools.event_handler.exceptions import NotFoundError

from clients.admission import RevokedDeviceError, TooManyMessagesError
from clients.device_registry import RegistryUnavailableError
from clients.kafka_producer import NotDurableError
from clients.payload_bucket import PayloadTooLargeError, PayloadUnavailableError
from fleetlane.events.errors import ProblemTag
from lambdas.ingest.batch import NotItsGatewayError
from lambdas.ingest.batch_document import BatchTooLongError
from lambdas.ingest.declarations import BadRequestError
from lambdas.ingest.http_request import NoRouteError, RevokedError, UnauthenticatedError

PROBLEM_CONTENT_TYPE: Final = "application/problem+json"
_TYPE_PREFIX: Final = "urn:fleetlane:problem:"
_RETRY_AFTER_S: Final = {ProblemTag.TRY_LATER: (5, 15), ProblemTag.SLOW_DOWN: (10, 60)}
"""From how many seconds to how many. An outage is over soon; a herd must spread out."""

_TAGS: Final[dict[type[Exception], ProblemTag]] = {
    BadRequestError: ProblemTag.BAD_REQUEST,
    UnauthenticatedError: ProblemTag.UNAUTHENTICATED,
    RevokedError: ProblemTag.FORBIDDEN,
    RevokedDeviceError: ProblemTag.FORBIDDEN,
    NotItsGatewayError: ProblemTag.FORBIDDEN,
    TooManyMessagesError: ProblemTag.SLOW_DOWN,
    NoRouteError: ProblemTag.NO_ROUTE,
    NotFoundError: ProblemTag.NO_ROUTE,
    PayloadTooLargeError: ProblemTag.TOO_LARGE,
    BatchTooLongError: ProblemTag.TOO_LARGE,
    RegistryUnavailableError: ProblemTag.TRY_LATER,
    PayloadUnavailableError: ProblemTag.TRY_LATER,
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
_OWN_AFFAIR: Final = "Nothing was acknowledged; send the same message again."


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """An answer to a request that was refused. ``retry_after_s`` says when to send it again."""

    tag: ProblemTag
    detail: str
    retry_after_s: int | None = None

    def members(self) -> dict[str, str | int]:
        """What stands in its JSON."""
        return {
            "type": _TYPE_PREFIX + self.tag,
            "title": _TITLES[self.tag],
            "status": self.tag.status,
            "detail": self.detail,
        }

    def body(self) -> str:
        return json.dumps(self.members())


def is_expected(error: Exception) -> bool:
    """Whether an error has its place in the table."""
    return type(error) in _TAGS


def problem_of(error: Exception, *, jitter: Callable[[int, int], int]) -> Problem:
    """Translate an error; one that is not in the table is our own, and worth another try.

    ``jitter`` picks from a range, both ends included, so that a fleet does not come back at once.
    """
    tag = _TAGS.get(type(error), ProblemTag.TRY_LATER)
    if tag in _RETRY_AFTER_S:
        detail = str(error) if tag is ProblemTag.SLOW_DOWN else _OWN_AFFAIR
        return Problem(tag=tag, detail=detail, retry_after_s=jitter(*_RETRY_AFTER_S[tag]))
    detail = "no such path and method" if isinstance(error, NotFoundError) else str(error)
    return Problem(tag=tag, detail=detail)
