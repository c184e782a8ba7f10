"""Errors that API Gateway answers itself, as the same RFC 9457 problems that our functions give."""

import json
from http import HTTPStatus
from typing import Final

from fleetlane.events.errors import ProblemTag

PROBLEM_CONTENT_TYPE: Final = "application/problem+json"
RETRY_AFTER_S: Final = {ProblemTag.SLOW_DOWN: 2, ProblemTag.TRY_LATER: 5, "WAF_FILTERED": 300}
"""Where a retry can succeed; the firewall counts an address's requests over five minutes."""

_TRY_LATER: Final = (ProblemTag.TRY_LATER, "the request could not be answered now")
_SLOW_DOWN: Final = (ProblemTag.SLOW_DOWN, "too many requests")
_NO_ROUTE: Final = (ProblemTag.NO_ROUTE, "no such path and method")
_TOO_LARGE: Final = "the body is too large; POST /v1/uploads/{stream} takes more"

PROBLEMS: Final = {
    "UNAUTHORIZED": (ProblemTag.UNAUTHENTICATED, "the token is missing or proves nothing"),
    "ACCESS_DENIED": (ProblemTag.FORBIDDEN, "the device may not send here"),
    "WAF_FILTERED": (ProblemTag.SLOW_DOWN, "too many requests from this address"),
    "MISSING_AUTHENTICATION_TOKEN": _NO_ROUTE,
    "INVALID_SIGNATURE": _NO_ROUTE,  # of a token where there is no path, to API Gateway
    "RESOURCE_NOT_FOUND": _NO_ROUTE,
    "REQUEST_TOO_LARGE": (ProblemTag.TOO_LARGE, _TOO_LARGE),
    "THROTTLED": _SLOW_DOWN,
    "QUOTA_EXCEEDED": _SLOW_DOWN,
    **dict.fromkeys(("AUTHORIZER_FAILURE", "AUTHORIZER_CONFIGURATION_ERROR"), _TRY_LATER),
    **dict.fromkeys(("INTEGRATION_FAILURE", "INTEGRATION_TIMEOUT"), _TRY_LATER),
    "API_CONFIGURATION_ERROR": _TRY_LATER,
    "DEFAULT_5XX": _TRY_LATER,
}
"""What each kind of error is, by API Gateway's name for it."""


def problem_body(tag: ProblemTag, detail: str) -> str:
    kind, title = f"urn:fleetlane:problem:{tag}", HTTPStatus(tag.status).phrase
    return json.dumps({"type": kind, "title": title, "status": int(tag.status), "detail": detail})
