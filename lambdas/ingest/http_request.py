"""Reading API Gateway's event: who sends, what it declares, and the body's very bytes."""

import binascii
from collections.abc import Mapping
from typing import Any, Final

import pybase64

from clients.device_registry import DeviceStatus
from fleetlane.events.envelope import DEFAULT_CONTENT_TYPE
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.lanes import Lane
from fleetlane.events.names import NAME_PATTERN, is_device_id, is_name
from lambdas.ingest.batch import Batch, Sender
from lambdas.ingest.declarations import (
    BODY_ENCODING,
    CONTENT_TYPE,
    FIRMWARE,
    IDEMPOTENCY_KEY,
    MILLIS,
    BadRequestError,
    Rule,
    checked,
    checked_span,
    refusal,
    shown,
)
from lambdas.ingest.uploads import Upload

_CLOUDEVENTS_BATCH: Final = "application/cloudevents-batch+json"
_OF_ONE_MESSAGE: Final = {
    "idempotency-key": "id",
    "x-firmware-version": "firmware",
    "x-data-start-millis": "startmillis",
    "x-data-end-millis": "endmillis",
    "x-body-encoding": "bodyencoding",
}


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
    sender = sender_of(event)
    if not is_name(stream):
        raise NoRouteError(stream)
    headers = _Headers(event.get("headers"))
    headers.check_content_encoding()
    start_millis, end_millis = headers.span()
    return Upload(
        device_id=sender.device_id,
        device_type=sender.device_type,
        is_quarantined=sender.is_quarantined,
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


def batch_from(event: Mapping[str, Any], *, arrival_millis: int) -> Batch:
    """Read a proxy event whose body is a CloudEvents JSON batch; its entries are not looked at.

    Raises:
        UnauthenticatedError: The authorizer gave no identity.
        RevokedError: It gave that of a revoked device.
        BadRequestError: The body is said to be something else, a header belongs to single
            messages alone, or the body is no Base64.
    """
    sender = sender_of(event)
    headers = _Headers(event.get("headers"))
    headers.check_content_encoding()
    headers.check_batch()
    return Batch(sender=sender, arrival_millis=arrival_millis, document=_body(event))


def sender_of(event: Mapping[str, Any]) -> Sender:
    """Read who sends, as the authorizer found out.

    Raises:
        UnauthenticatedError: The authorizer gave no identity.
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
        return self._matching("Content-Type", CONTENT_TYPE) or DEFAULT_CONTENT_TYPE

    def idempotency_key(self) -> str | None:
        return self._matching("Idempotency-Key", IDEMPOTENCY_KEY)

    def firmware(self) -> str | None:
        return self._matching("X-Firmware-Version", FIRMWARE)

    def body_encoding(self) -> str | None:
        return self._matching("X-Body-Encoding", BODY_ENCODING)

    def span(self) -> tuple[int | None, int | None]:
        """When the data inside begins and ends, as declared."""
        start, end = "X-Data-Start-Millis", "X-Data-End-Millis"
        return checked_span(
            (f"header {start}", self._millis(start)), (f"header {end}", self._millis(end))
        )

    def check_content_encoding(self) -> None:
        """API Gateway would unpack such a body, and its bytes would not be the device's."""
        encoding = self._headers.get("content-encoding", "identity")
        if encoding.lower() != "identity":
            allowed = "identity; declare it as X-Body-Encoding"
            raise refusal("header Content-Encoding", encoding, allowed)

    def check_batch(self) -> None:
        """A batch says what it is, and of single messages nothing: its entries do that."""
        content_type = self._headers.get("content-type", "")
        if content_type.partition(";")[0].strip().lower() != _CLOUDEVENTS_BATCH:
            raise refusal("header Content-Type", content_type, _CLOUDEVENTS_BATCH)
        for name, attribute in _OF_ONE_MESSAGE.items():
            if name in self._headers:
                told = f"header {name} is of single messages; an entry has `{attribute}`"
                raise BadRequestError(told)

    def _millis(self, name: str) -> int | None:
        value = self._matching(name, MILLIS)
        return None if value is None else int(value)

    def _matching(self, name: str, rule: Rule) -> str | None:
        value = self._headers.get(name.lower())
        return None if value is None else checked(f"header {name}", value, rule)
