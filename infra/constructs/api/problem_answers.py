"""Errors that API Gateway answers itself, as the same RFC 9457 problems that our functions give."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from fleetlane.events.errors import ProblemTag

PROBLEM_CONTENT_TYPE: Final = "application/problem+json"
_TYPE_PREFIX: Final = "urn:fleetlane:problem:"
_RETRY_AFTER_S: Final = {ProblemTag.SLOW_DOWN: 2, ProblemTag.TRY_LATER: 5}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemAnswer:
    """An error of API Gateway's own. ``kind`` is its name for what went wrong."""

    kind: str
    tag: ProblemTag
    detail: str

    @property
    def body(self) -> str:
        status = HTTPStatus(self.tag.status)
        problem = {
            "type": _TYPE_PREFIX + self.tag,
            "title": status.phrase,
            "status": int(status),
            "detail": self.detail,
        }
        return json.dumps(problem)

    @property
    def retry_after_s(self) -> int | None:
        """When to retry; ``None`` where a retry cannot succeed."""
        return _RETRY_AFTER_S.get(self.tag)


def problem_answers() -> Iterator[ProblemAnswer]:
    """One answer for each way in which API Gateway fails a request by itself."""
    for kind, (tag, detail) in _ANSWERS.items():
        yield ProblemAnswer(kind=kind, tag=tag, detail=detail)


_TRY_LATER: Final = (ProblemTag.TRY_LATER, "the request could not be answered now")
_NO_TOKEN: Final = (ProblemTag.UNAUTHENTICATED, "the token is missing or proves nothing")
_DENIED: Final = (ProblemTag.FORBIDDEN, "the device may not send here")
_SLOW_DOWN: Final = (ProblemTag.SLOW_DOWN, "too many requests")
_TOO_LARGE: Final = "the body is too large; POST /v1/uploads/{stream} takes more"

_ANSWERS: Final = {
    "UNAUTHORIZED": _NO_TOKEN,
    "ACCESS_DENIED": _DENIED,
    "WAF_FILTERED": _DENIED,
    "MISSING_AUTHENTICATION_TOKEN": (ProblemTag.NO_ROUTE, "no such path and method"),
    # A path that there is not, asked for with a token: API Gateway takes the token for a signature.
    "INVALID_SIGNATURE": (ProblemTag.NO_ROUTE, "no such path and method"),
    "RESOURCE_NOT_FOUND": (ProblemTag.NO_ROUTE, "no such path and method"),
    "REQUEST_TOO_LARGE": (ProblemTag.TOO_LARGE, _TOO_LARGE),
    "THROTTLED": _SLOW_DOWN,
    "QUOTA_EXCEEDED": _SLOW_DOWN,
    "AUTHORIZER_FAILURE": _TRY_LATER,
    "AUTHORIZER_CONFIGURATION_ERROR": _TRY_LATER,
    "INTEGRATION_FAILURE": _TRY_LATER,
    "INTEGRATION_TIMEOUT": _TRY_LATER,
    "API_CONFIGURATION_ERROR": _TRY_LATER,
    "DEFAULT_5XX": _TRY_LATER,
}
