"""What a caller is answered; an error is an RFC 9457 problem, with a tag that never changes."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Self

from aws_lambda_powertools import Logger

from clients.devices.registry import RegistryUnavailableError
from fleetlane.events.errors import ProblemTag
from fleetlane.events.metrics import Dimension, FunctionMetric, Service
from fleetlane.events.names import NAME
from lambdas.http import device_request
from lambdas.http.embedded_metrics import MetricLine
from lambdas.http.rate_limiter import RevokedDeviceError, TooManyMessagesError
from lambdas.http.senders import NotItsGatewayError

PROBLEM_CONTENT_TYPE: Final = "application/problem+json"
_TYPE_PREFIX: Final = "urn:fleetlane:problem:"
_RETRY_AFTER_S: Final = {ProblemTag.TRY_LATER: (5, 15), ProblemTag.SLOW_DOWN: (10, 60)}
"""From how many seconds to how many. An outage is over soon; a herd must spread out."""

OF_REQUESTS: Final[Mapping[type[Exception], ProblemTag]] = {
    device_request.BadRequestError: ProblemTag.BAD_REQUEST,
    device_request.UnauthenticatedError: ProblemTag.UNAUTHENTICATED,
    device_request.NoRouteError: ProblemTag.NO_ROUTE,
    NotItsGatewayError: ProblemTag.FORBIDDEN,
    RevokedDeviceError: ProblemTag.FORBIDDEN,
    TooManyMessagesError: ProblemTag.SLOW_DOWN,
    RegistryUnavailableError: ProblemTag.TRY_LATER,
}
"""Errors that any request of a device can have."""

_NOTHING_ACKNOWLEDGED: Final = "Nothing was acknowledged; send the same message again."


type Answer = dict[str, Any]
"""What a device is answered, as API Gateway (REST, v1) wants it."""


def answer(
    status: int,
    body: str,
    *,
    content_type: str = "application/json",
    retry_after_s: int | None = None,
    allow: str | None = None,
) -> Answer:
    """``retry_after_s`` is when to send the same again; ``allow`` the method that there is."""
    headers = {"Content-Type": content_type, "Retry-After": retry_after_s, "Allow": allow}
    return {
        "statusCode": status,
        "body": body,
        "isBase64Encoded": False,
        "multiValueHeaders": {
            name: [str(value)] for name, value in headers.items() if value is not None
        },
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """An answer to a request that was refused. The rest is as in ``answer``."""

    tag: ProblemTag
    detail: str
    retry_after_s: int | None = None
    allow: str | None = None

    def members(self) -> dict[str, str | int]:
        return {
            "type": _TYPE_PREFIX + self.tag,
            "title": self.tag.headline,
            "status": self.tag.status,
            "detail": self.detail,
        }

    def answer(self) -> Answer:
        return answer(
            self.tag.status,
            json.dumps(self.members()),
            content_type=PROBLEM_CONTENT_TYPE,
            retry_after_s=self.retry_after_s,
            allow=self.allow,
        )


class Asker(NamedTuple):
    """Whose request was refused, for who can mend it; empty where that is not known.

    ``device_type`` is the sender's own, whose messages it may relay.
    """

    stream: str = ""
    firmware: str = ""
    device_type: str = ""

    @classmethod
    def of(cls, event: Mapping[str, Any]) -> Self:
        """Of a proxy event (API Gateway REST, v1), whatever is wrong with it."""
        asked = "".join((event.get("path") or "").split("/")[3:4])  # /v1/streams/pump
        firmware = device_request.any_headers_in(event).get("x-firmware-version") or ""
        return cls(
            stream=asked if NAME.fullmatch(asked) else "",
            firmware=firmware if device_request.FIRMWARE.pattern.fullmatch(firmware) else "",
            device_type=device_request.identity_in(event).get("device_type", ""),
        )


def refused_line(service: Service) -> MetricLine:
    """The line of refused messages: counted by tag, with their ``Asker`` for who reads the log."""
    return MetricLine(service, FunctionMetric.REFUSED, dimension=Dimension.TAG, about=Asker._fields)


type Tags = Mapping[type[Exception], ProblemTag]
"""Which error has which tag, in one function."""

type Jitter = Callable[[int, int], int]
"""Picks from a range, both ends included: so a fleet does not come back at once."""


def translated(
    error: Exception, tags: Tags, *, jitter: Jitter, logger: Logger, not_done: str
) -> Problem:
    """The problem of an error; one that has no tag is our own, and worth another try.

    Our own log has what the device cannot mend: what is ``not_done``, or a bug.
    """
    tag = next((tags[kind] for kind in type(error).__mro__ if kind in tags), None)
    if tag is None:
        tag = ProblemTag.TRY_LATER
        logger.error("failed", exc_info=error)
    elif tag is ProblemTag.TRY_LATER:
        logger.warning(not_done, extra={"problem": str(error)})
    if tag not in _RETRY_AFTER_S:
        return Problem(tag=tag, detail=str(error), allow=getattr(error, "allow", None))
    detail = str(error) if tag is ProblemTag.SLOW_DOWN else _NOTHING_ACKNOWLEDGED
    return Problem(tag=tag, detail=detail, retry_after_s=jitter(*_RETRY_AFTER_S[tag]))
