"""Errors that API Gateway answers itself, as the same RFC 9457 problems that our functions give."""

import json
from http import HTTPStatus
from types import MappingProxyType
from typing import Final

from fleetlane.events.errors import ProblemTag

PROBLEM_CONTENT_TYPE: Final = "application/problem+json"
RETRY_AFTER_S: Final = MappingProxyType({ProblemTag.SLOW_DOWN: 2, ProblemTag.TRY_LATER: 5})
"""Where a retry can succeed."""

_TRY_LATER: Final = (ProblemTag.TRY_LATER, "the request could not be answered now")
_NO_TOKEN: Final = (ProblemTag.UNAUTHENTICATED, "the token is missing or proves nothing")
_DENIED: Final = (ProblemTag.FORBIDDEN, "the device may not send here")
_SLOW_DOWN: Final = (ProblemTag.SLOW_DOWN, "too many requests")
_TOO_LARGE: Final = "the body is too large; POST /v1/uploads/{stream} takes more"

PROBLEMS: Final = MappingProxyType(
    {
        "UNAUTHORIZED": _NO_TOKEN,
        "ACCESS_DENIED": _DENIED,
        "WAF_FILTERED": _DENIED,
        "MISSING_AUTHENTICATION_TOKEN": (ProblemTag.NO_ROUTE, "no such path and method"),
        # Of a path that there is not, with a token: API Gateway takes that for a signature.
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
)
"""What each kind of error is, by API Gateway's name for it."""


def problem_body(tag: ProblemTag, detail: str) -> str:
    kind, title = f"urn:fleetlane:problem:{tag}", HTTPStatus(tag.status).phrase
    return json.dumps({"type": kind, "title": title, "status": int(tag.status), "detail": detail})
