"""What a device says of a body before it uploads it."""

from collections.abc import Mapping
from copy import replace
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from fleetlane.events.envelope import DEFAULT_CONTENT_TYPE, SOURCE_PREFIX
from fleetlane.events.names import DEVICE_ID_PATTERN
from lambdas.http.declarations import CONTENT_TYPE, BadRequestError, Declared, checked
from lambdas.http.device_request import (
    Sender,
    body_of,
    checked_stream,
    declared_in,
    headers_in,
    sender_of,
)

DECLARATION_BYTES_MAX: Final = 4096


class _Body(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The request's body, in JSON, to which 6.0 is the whole number that 6 is."""

    bytes: Annotated[float, Meta(ge=1)]
    sha256: Annotated[str, Meta(pattern=r"^[0-9a-fA-F]{64}\Z")]
    content_type: str = DEFAULT_CONTENT_TYPE
    source: Annotated[str, Meta(pattern=rf"^{SOURCE_PREFIX}{DEVICE_ID_PATTERN}\Z")] = ""

    def __post_init__(self) -> None:
        if self.bytes != int(self.bytes):
            raise ValueError(f"`bytes` is {self.bytes}; allowed: whole numbers from 1")


class Declaration(Declared, frozen=True, kw_only=True):
    """What is to be uploaded, of which device, and the key with which it is the same message again.

    ``sha256`` is in lower-case hexadecimal.
    """

    sender: Sender
    device_id: str
    stream: str
    body_bytes: int
    sha256: str


def declaration_from(event: Mapping[str, Any]) -> Declaration:
    """Read a proxy event (API Gateway REST, v1).

    Raises:
        UnauthenticatedError: The authorizer gave no identity.
        RevokedError: It gave that of a revoked device.
        NoRouteError: The stream's name is not allowed.
        BadRequestError: A header's value is not allowed, or the body declares nothing.
    """
    sender = sender_of(event)
    stream = checked_stream((event.get("pathParameters") or {}).get("stream", ""))
    declared = declared_in(headers_in(event))
    body = _body(body_of(event))
    content_type = checked("`content_type`", body.content_type, CONTENT_TYPE)
    return Declaration(
        sender=sender,
        device_id=body.source.removeprefix(SOURCE_PREFIX) or sender.device_id,
        stream=stream,
        body_bytes=int(body.bytes),
        sha256=body.sha256.lower(),
        **msgspec.structs.asdict(replace(declared, content_type=content_type)),
    )


def _body(body: bytes) -> _Body:
    if len(body) > DECLARATION_BYTES_MAX:
        raise BadRequestError(
            f"the declaration is {len(body)} bytes; the limit is {DECLARATION_BYTES_MAX} bytes, "
            "and the message itself goes to the `url` of the answer"
        )
    try:
        return msgspec.json.decode(body, type=_Body)
    except (msgspec.MsgspecError, UnicodeDecodeError) as problem:
        wanted = '{"bytes": 6291456, "sha256": "<64 hex digits>"}'
        raise BadRequestError(f"the body declares no upload: {problem}; send {wanted}") from None
