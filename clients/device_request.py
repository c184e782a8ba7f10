"""What a device's request says, by API Gateway's event: who sends, what is declared, the bytes."""

import binascii
from collections.abc import Mapping
from typing import Any, Final

import msgspec
import pybase64

from clients.declarations import (
    BODY_ENCODING,
    CONTENT_TYPE,
    FIRMWARE,
    IDEMPOTENCY_KEY,
    MILLIS,
    BadRequestError,
    Rule,
    checked_span,
    refusal,
    shown,
)
from clients.device_registry import DeviceStatus
from fleetlane.events.envelope import DEFAULT_CONTENT_TYPE
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.names import NAME_PATTERN, is_device_id, is_name

_STATUSES: Final = frozenset(DeviceStatus)


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
        return f"stream {shown(self.stream)} does not match {NAME_PATTERN}"


class Sender(msgspec.Struct, frozen=True, kw_only=True):
    """Who sends a request, as its credential proves."""

    device_id: str
    device_type: str
    is_quarantined: bool


def sender_of(event: Mapping[str, Any]) -> Sender:
    """Read who sends, as the authorizer found out.

    Raises:
        UnauthenticatedError: The authorizer gave no identity.
        RevokedError: It gave that of a revoked device.
    """
    identity: Mapping[str, str] = (event.get("requestContext") or {}).get("authorizer") or {}
    device_id, device_type = identity.get("device_id", ""), identity.get("device_type", "")
    status = identity.get("status", "")
    if not is_device_id(device_id) or not is_name(device_type) or status not in _STATUSES:
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
        return pybase64.b64decode(body, validate=True)
    except binascii.Error as problem:
        raise BadRequestError(f"the body is not Base64, as its event says: {problem}") from None


class DeclaredHeaders:
    """A request's headers, each read by its own rule. Absent ones are ``None``.

    Names are in lower case here, and in a problem as the documents write them.
    """

    def __init__(self, headers: Mapping[str, str] | None) -> None:
        self._headers = {name.lower(): value for name, value in (headers or {}).items()}

    def told(self, name: str) -> str | None:
        """What is said under this name, in lower case, unchecked."""
        return self._headers.get(name)

    def content_type(self) -> str:
        return self._matching("content-type", CONTENT_TYPE) or DEFAULT_CONTENT_TYPE

    def idempotency_key(self) -> str | None:
        return self._matching("idempotency-key", IDEMPOTENCY_KEY)

    def firmware(self) -> str | None:
        return self._matching("x-firmware-version", FIRMWARE)

    def body_encoding(self) -> str | None:
        return self._matching("x-body-encoding", BODY_ENCODING)

    def span(self) -> tuple[int | None, int | None]:
        """When the data inside begins and ends, as declared."""
        start, end = "x-data-start-millis", "x-data-end-millis"
        start_millis, end_millis = self._millis(start), self._millis(end)
        if start_millis is None or end_millis is None:
            return start_millis, end_millis
        return checked_span((_place(start), start_millis), (_place(end), end_millis))

    def check_content_encoding(self) -> None:
        """API Gateway would unpack such a body, and its bytes would not be the device's."""
        encoding = self._headers.get("content-encoding")
        if encoding is not None and encoding.lower() != "identity":
            allowed = "identity; declare it as X-Body-Encoding"
            raise refusal("header Content-Encoding", encoding, allowed)

    def _millis(self, name: str) -> int | None:
        value = self._matching(name, MILLIS)
        return None if value is None else int(value)

    def _matching(self, name: str, rule: Rule) -> str | None:
        value = self._headers.get(name)
        if value is not None and rule.pattern.fullmatch(value) is None:
            raise refusal(_place(name), value, rule.allowed)
        return value


def _place(name: str) -> str:
    return f"header {name.title()}"
