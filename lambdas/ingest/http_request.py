"""Reading API Gateway's event: who sends, what it declares, and the body's very bytes."""

import binascii
import re
from collections.abc import Mapping
from typing import Any, Final

import pybase64

from clients.device_registry import DeviceStatus
from fleetlane.events.envelope import DEFAULT_CONTENT_TYPE
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.lanes import Lane
from fleetlane.events.names import NAME_PATTERN, is_device_id, is_name
from lambdas.ingest.uploads import Upload

BODY_ENCODINGS: Final = ("gzip", "deflate", "zstd")

_VALUE_SHOWN_CHARS: Final = 80
_CONTENT_TYPE: Final = re.compile("[ -~]{1,256}")
_IDEMPOTENCY_KEY: Final = re.compile("[!-~]{1,256}")
_FIRMWARE: Final = re.compile("[!-~]{1,64}")
_MILLIS: Final = re.compile("-?[0-9]{1,18}")
_BODY_ENCODING: Final = re.compile("|".join(BODY_ENCODINGS))


class BadRequestError(FleetlaneError):
    """A request that no retry can mend. The problem names the header, its value, what may be."""

    reason = "bad_request"

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem

    def __str__(self) -> str:
        return self.problem


class UnauthenticatedError(FleetlaneError):
    """The authorizer did not say who sends."""

    reason = "unauthenticated"

    def __str__(self) -> str:
        return "the request carries no identity of a device"


class RevokedError(FleetlaneError):
    """The device may not send any more."""

    reason = "revoked"

    def __str__(self) -> str:
        return "the device is revoked"


class NoRouteError(FleetlaneError):
    """There can be no such stream."""

    reason = "no_route"

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self.stream = stream

    def __str__(self) -> str:
        return f"stream {_shown(self.stream)} does not match {NAME_PATTERN}"


def upload_from(
    event: Mapping[str, Any], *, stream: str, asked: Lane, arrival_millis: int
) -> Upload:
    """Read a proxy event (API Gateway REST, v1).

    Raises:
        UnauthenticatedError: The authorizer gave no identity.
        RevokedError: It gave that of a revoked device.
        NoRouteError: The stream's name is not allowed.
        BadRequestError: A header's value is not allowed, or the body is no Base64.
    """
    identity: Mapping[str, str] = (event.get("requestContext") or {}).get("authorizer") or {}
    device_id, device_type, status = _identified(identity)
    if not is_name(stream):
        raise NoRouteError(stream)
    headers = _Headers(event.get("headers"))
    headers.check_content_encoding()
    start_millis, end_millis = headers.span()
    return Upload(
        device_id=device_id,
        device_type=device_type,
        is_quarantined=status is DeviceStatus.QUARANTINED,
        stream=stream,
        asked=asked,
        arrival_millis=arrival_millis,
        body=_body(event),
        content_type=headers.content_type(),
        idempotency_key=headers.idempotency_key(),
        firmware=headers.firmware(),
        start_millis=start_millis,
        end_millis=end_millis,
        body_encoding=headers.body_encoding(),
    )


def _identified(identity: Mapping[str, str]) -> tuple[str, str, DeviceStatus]:
    device_id, device_type = identity.get("device_id", ""), identity.get("device_type", "")
    status = identity.get("status", "")
    if not is_device_id(device_id) or not is_name(device_type) or status not in DeviceStatus:
        raise UnauthenticatedError
    if status == DeviceStatus.REVOKED:
        raise RevokedError
    return device_id, device_type, DeviceStatus(status)


def _body(event: Mapping[str, Any]) -> bytes:
    """The bytes as the device sent them; none at all is an empty message."""
    body: str = event.get("body") or ""
    if not event.get("isBase64Encoded"):
        return body.encode()
    try:
        return pybase64.b64decode(body, validate=True)
    except binascii.Error as problem:
        raise BadRequestError(f"the body is not Base64, as its event says: {problem}") from None


class _Headers:
    """A request's headers, each read by its own rule. Absent ones are ``None``."""

    def __init__(self, headers: Mapping[str, str] | None) -> None:
        self._headers = {name.lower(): value for name, value in (headers or {}).items()}

    def content_type(self) -> str:
        content_type = self._matching("Content-Type", _CONTENT_TYPE, "1 to 256 ASCII characters")
        return content_type or DEFAULT_CONTENT_TYPE

    def idempotency_key(self) -> str | None:
        return self._matching("Idempotency-Key", _IDEMPOTENCY_KEY, "1 to 256 visible ASCII")

    def firmware(self) -> str | None:
        return self._matching("X-Firmware-Version", _FIRMWARE, "1 to 64 visible ASCII")

    def body_encoding(self) -> str | None:
        return self._matching("X-Body-Encoding", _BODY_ENCODING, ", ".join(BODY_ENCODINGS))

    def span(self) -> tuple[int | None, int | None]:
        """When the data inside begins and ends, as declared."""
        start, end = self._millis("X-Data-Start-Millis"), self._millis("X-Data-End-Millis")
        if start is not None and end is not None and start > end:
            allowed = f"at most X-Data-End-Millis, {end}"
            raise BadRequestError(_refusal("X-Data-Start-Millis", str(start), allowed))
        return start, end

    def check_content_encoding(self) -> None:
        """API Gateway would unpack such a body, and its bytes would not be the device's."""
        encoding = self._headers.get("content-encoding", "identity")
        if encoding.lower() != "identity":
            raise BadRequestError(
                _refusal("Content-Encoding", encoding, "identity; declare it as X-Body-Encoding")
            )

    def _millis(self, name: str) -> int | None:
        value = self._matching(name, _MILLIS, "a whole number of at most 18 digits")
        return None if value is None else int(value)

    def _matching(self, name: str, pattern: re.Pattern[str], allowed: str) -> str | None:
        value = self._headers.get(name.lower())
        if value is not None and pattern.fullmatch(value) is None:
            raise BadRequestError(_refusal(name, value, allowed))
        return value


def _refusal(header: str, value: str, allowed: str) -> str:
    return f"header {header} is {_shown(value)}; allowed: {allowed}"


def _shown(value: str) -> str:
    cut = len(value) > _VALUE_SHOWN_CHARS
    return f"{value[:_VALUE_SHOWN_CHARS]!r}{'…' if cut else ''}"
