"""What a device's request says, by API Gateway's event: who sends, what is declared, the bytes."""

import binascii
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec
import pybase64

from clients.devices.registry import DeviceStatus
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.names import DEVICE_ID, NAME, NAME_PATTERN
from fleetlane.events.times import MILLIS_MAX, MILLIS_MIN
from lambdas.http.rate_limiter import RevokedDeviceError

BODY_ENCODINGS: Final = ("gzip", "deflate", "zstd")

_VALUE_SHOWN_CHARS: Final = 80


class BadRequestError(FleetlaneError):
    """A request that no retry can mend. The problem names the place, its value, what may be."""

    problem: str
    sentence = "{problem}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What a declared value must match, and how that is said."""

    pattern: re.Pattern[str]
    allowed: str


CONTENT_TYPE: Final = Rule(pattern=re.compile("[ -~]{1,256}"), allowed="1 to 256 ASCII characters")
IDEMPOTENCY_KEY: Final = Rule(pattern=re.compile("[!-~]{1,256}"), allowed="1 to 256 visible ASCII")
FIRMWARE: Final = Rule(pattern=re.compile("[!-~]{1,64}"), allowed="1 to 64 visible ASCII")
BODY_ENCODING: Final = Rule(
    pattern=re.compile("|".join(BODY_ENCODINGS)), allowed=", ".join(BODY_ENCODINGS)
)

MILLIS: Final = Rule(
    pattern=re.compile("-?[0-9]{1,15}"),
    allowed=f"a whole number from {MILLIS_MIN} to {MILLIS_MAX} (the years 1 to 9999)",
)
"""Nothing behind could write another time, and sums over a few of them would overflow."""


def checked(place: str, value: str, rule: Rule) -> str:
    """Return the ``value`` at ``place``; raises ``BadRequestError`` where it breaks the rule."""
    if rule.pattern.fullmatch(value) is None:
        raise refusal(place, value, rule.allowed)
    return value


def refusal(place: str, value: str, allowed: str) -> BadRequestError:
    return BadRequestError(f"{place} is {shown(value)}; allowed: {allowed}")


def shown(value: str) -> str:
    """A value as an answer shows it: quoted, and cut where it is long."""
    cut = len(value) > _VALUE_SHOWN_CHARS
    return f"{value[:_VALUE_SHOWN_CHARS]!r}{'…' if cut else ''}"


_DECLARED: Final = (  # as a field of ours, as a header, as an attribute of a batch's entry
    ("content_type", "content-type", "datacontenttype", CONTENT_TYPE),
    ("idempotency_key", "idempotency-key", "id", IDEMPOTENCY_KEY),
    ("firmware", "x-firmware-version", "firmware", FIRMWARE),
    ("body_encoding", "x-body-encoding", "bodyencoding", BODY_ENCODING),
    ("start_millis", "x-data-start-millis", "startmillis", MILLIS),
    ("end_millis", "x-data-end-millis", "endmillis", MILLIS),
)
_HEADERS: Final = tuple((field, header, rule) for field, header, _, rule in _DECLARED)
ATTRIBUTES: Final = tuple((field, attribute, rule) for field, _, attribute, rule in _DECLARED)
ATTRIBUTE_OF: Final = {header: attribute for _, header, attribute, _ in _DECLARED}


class UnauthenticatedError(FleetlaneError):
    """The authorizer did not say who sends."""

    sentence = "the request has no device identity"


class NoRouteError(FleetlaneError):
    """There can be no such stream."""

    stream: str

    def __str__(self) -> str:
        return f"stream {shown(self.stream)} does not match {NAME_PATTERN}"


class Sender(msgspec.Struct, frozen=True, kw_only=True):
    """Who sends a request, as its credential proves."""

    device_id: str
    device_type: str
    attributes: str | None = None
    is_quarantined: bool
    registered_ms: int = 0


def sender_of(event: Mapping[str, Any]) -> Sender:
    """Read who sends, as the authorizer found out.

    Raises:
        UnauthenticatedError: The authorizer gave no identity.
        RevokedDeviceError: It gave that of a revoked device.
    """
    identity = identity_in(event)
    device_id, device_type = identity.get("device_id", ""), identity.get("device_type", "")
    status = identity.get("status", "")
    is_known = DEVICE_ID.fullmatch(device_id) and NAME.fullmatch(device_type)
    if not is_known or status not in DeviceStatus:
        raise UnauthenticatedError
    if status == DeviceStatus.REVOKED:
        raise RevokedDeviceError(device_id)
    return Sender(
        device_id=device_id,
        device_type=device_type,
        attributes=identity.get("attributes"),
        is_quarantined=status == DeviceStatus.QUARANTINED,
        registered_ms=int(identity.get("registered_ms") or 0),
    )


def identity_in(event: Mapping[str, Any]) -> Mapping[str, str]:
    """What the authorizer says of the sender; nothing where it was not asked."""
    return (event.get("requestContext") or {}).get("authorizer") or {}


def checked_stream(stream: str) -> str:
    """Return the name of a stream as it is in a path; raises ``NoRouteError``."""
    if NAME.fullmatch(stream) is None:
        raise NoRouteError(stream)
    return stream


def body_of(event: Mapping[str, Any]) -> bytes:
    """Take the bytes as the device sent them; none at all is an empty message.

    Raises ``BadRequestError`` where they are not the Base64 that their event says they are, or the
    HTTP API, which decodes what is declared as JSON or text, has replaced bytes that are no UTF-8.
    """
    body: str = event.get("body") or ""
    if not event.get("isBase64Encoded"):
        if "\N{REPLACEMENT CHARACTER}" in body:
            raise BadRequestError(
                "the body holds what is no text in UTF-8, or U+FFFD; allowed with this "
                "Content-Type: UTF-8 without U+FFFD; send such bytes as application/octet-stream"
            )
        return body.encode()
    try:
        return pybase64.b64decode(body, validate=True)
    except binascii.Error as problem:
        raise BadRequestError(f"the body is not Base64, as its event says: {problem}") from None


def headers_in(event: Mapping[str, Any]) -> Mapping[str, str]:
    """A request's headers, their names in lower case, their values unchecked.

    Raises ``BadRequestError`` where a ``Content-Encoding`` is declared: API Gateway would unpack
    such a body, and its bytes would not be the device's.
    """
    headers = any_headers_in(event)
    encoding = headers.get("content-encoding")
    if encoding is not None and encoding.lower() != "identity":
        allowed = "identity; declare it as X-Body-Encoding"
        raise refusal("header Content-Encoding", encoding, allowed)
    return headers


def any_headers_in(event: Mapping[str, Any]) -> Mapping[str, str]:
    """As ``headers_in``, for a request that is refused already."""
    return {name.lower(): value for name, value in (event.get("headers") or {}).items()}


def declared_in(headers: Mapping[str, str]) -> dict[str, Any]:
    """What the headers of a message declare; as ``declared``."""
    return declared(_HEADERS, headers.get, lambda name: f"header {name.title()}")


def declared(
    names: Sequence[tuple[str, str, Rule]],
    text_of: Callable[[str], str | None],
    place: Callable[[str], str],
) -> dict[str, Any]:
    """Read what a message says of itself under these names: as ``Declared``, and its key.

    ``place`` says in a refusal where a name is. Raises ``BadRequestError`` for what its rule does
    not allow, and for data that ends before it begins.
    """
    values: dict[str, Any] = {}
    for field, name, rule in names:
        text = text_of(name)
        if text is not None:
            is_fit, is_time = rule.pattern.fullmatch(text) is not None, rule is MILLIS
            if not is_fit or (is_time and not MILLIS_MIN <= int(text) <= MILLIS_MAX):
                raise refusal(place(name), text, rule.allowed)
            values[field] = int(text) if is_time else text
    start_millis, end_millis = values.get("start_millis"), values.get("end_millis")
    if start_millis is not None and end_millis is not None and start_millis > end_millis:
        (_, start, _), (_, end, _) = names[-2:]
        allowed = f"at most {place(end).rpartition(' ')[2]}, {end_millis}"
        raise refusal(place(start), str(start_millis), allowed)
    return values
