"""Answers that the gateway makes itself, as RFC 9457 problems with our tags."""

from http import HTTPStatus
from typing import Final

import orjson
from starlette.responses import Response

from fleetlane.events.errors import ProblemTag

_TYPE_PREFIX: Final = "urn:fleetlane:problem:"
_RETRY_AFTER_S: Final = {ProblemTag.SLOW_DOWN: 2, ProblemTag.TRY_LATER: 5}


class RefusedError(Exception):
    """A request is refused before any function has seen it; ``response`` is the answer."""

    def __init__(self, response: Response) -> None:
        super().__init__(response)
        self.response = response


def refused(tag: ProblemTag, detail: str) -> RefusedError:
    """Refuse with one of our tags; those that are worth retrying say when."""
    retry_after_s = _RETRY_AFTER_S.get(tag)
    headers = {} if retry_after_s is None else {"Retry-After": str(retry_after_s)}
    return _refused(tag.status, _TYPE_PREFIX + tag, detail, headers)


def refused_untagged(status: HTTPStatus, detail: str) -> RefusedError:
    """Refuse for what has no tag of ours: no device of ours does it."""
    return _refused(status, "about:blank", detail, {})


def _refused(status: int, kind: str, detail: str, headers: dict[str, str]) -> RefusedError:
    title = HTTPStatus(status).phrase
    body = orjson.dumps({"type": kind, "title": title, "status": status, "detail": detail})
    return RefusedError(Response(body, status, headers, "application/problem+json"))
