"""What a device's request says, by API Gateway's event: who sends, what is declared, the bytes."""

import base64
import binascii
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from clients.device_registry import DeviceStatus
from fleetlane.events.envelope import DEFAULT_CONTENT_TYPE
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.names import NAME_PATTERN, is_device_id, is_name

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Sender:
    """The device that a request's credential proves."""

    device_id: str
    device_type: str
    is_quarantined: bool


def sender_of(event: Mapping[str, Any]) -> Sender:
    """Read who sends, which the authorizer alone says.

    Raises:
        UnauthenticatedError: It gave no identity.
        RevokedError: It gave that of a revoked device.
    """
    identity: Mapping[str, str] = (event.get("requestContext") or {}).get("authorizer") or {}
    device_id, device_type = identity.get("device_id", ""), identity.get("device_type", "")
    status = identity.get("status", "")
    if not is_device_id(device_id) or not is_name(device_type) or status not in DeviceStatus:
        raise UnauthenticatedError
    if status == DeviceStatus.REVOKED:
        raise RevokedError
    return Sender(
        device_id=device_id,
        device_type=device_type,
        is_quarantined=status == DeviceStatus.QUARANTINED,
    )


def checked_stream(stream: str) -> str:
    """Return the name of a stream as it stands in a path; raises ``NoRouteError``."""
    if not is_name(stream):
        raise NoRouteError(stream)
    return stream


def body_of(event: Mapping[str, Any]) -> bytes:
    """Take the bytes as the device sent them; none at all is an empty message.

    Raises:
        BadRequestError: They are not the Base64 that their event says they are.
    """
    body: str = event.get("body") or ""
    if not event.get("isBase64Encoded"):
        return body.encode()
    try:
        return base64.b64decode(body, validate=True)
    except binascii.Error as problem:
        raise BadRequestError(f"the body is not Base64, as its event says: {problem}") from None


class DeclaredHeaders:
    """A request's headers, each read by its own rule. Absent ones are ``None``."""

    def __init__(self, headers: Mapping[str, str] | None) -> None:
        self._headers = {name.lower(): value for name, value in (headers or {}).items()}

    def content_type(self) -> str:
        return checked_content_type(self._headers.get("content-type"))

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


def checked_content_type(value: str | None) -> str:
    """Return a content type, or that of unknown bytes; raises ``BadRequestError``."""
    if value is not None and _CONTENT_TYPE.fullmatch(value) is None:
        raise BadRequestError(_refusal("Content-Type", value, "1 to 256 ASCII characters"))
    return value or DEFAULT_CONTENT_TYPE


def _refusal(header: str, value: str, allowed: str) -> str:
    return f"header {header} is {_shown(value)}; allowed: {allowed}"


def _shown(value: str) -> str:
    cut = len(value) > _VALUE_SHOWN_CHARS
    return f"{value[:_VALUE_SHOWN_CHARS]!r}{'…' if cut else ''}"
