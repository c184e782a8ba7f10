"""Issuing one upload: its id and its envelope are fixed before a byte of it is sent."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from clients.devices.bound_devices import CachedBoundDevices
from clients.flows.store import CurrentFlows
from clients.s3.payload_bucket import PayloadTooLargeError
from clients.s3.upload_bucket import IssuedUpload, upload_key
from fleetlane.events.envelope import DEFAULT_CONTENT_TYPE, SOURCE_PREFIX
from fleetlane.events.names import DEVICE_ID_PATTERN, raw_id_of
from lambdas.http import device_request
from lambdas.http.rate_limiter import RateLimiter
from lambdas.http.senders import Senders

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


def _body(body: bytes) -> _Body:
    """Raises ``BadRequestError`` where it declares nothing that may be uploaded."""
    if len(body) > DECLARATION_BYTES_MAX:
        raise device_request.BadRequestError(
            f"the declaration is {len(body)} bytes; the limit is {DECLARATION_BYTES_MAX} bytes, "
            "and the message itself goes to the `url` of the answer"
        )
    try:
        read = msgspec.json.decode(body, type=_Body)
    except (msgspec.MsgspecError, UnicodeDecodeError) as problem:
        wanted = '{"bytes": 6291456, "sha256": "<64 hex digits>"}'
        raise device_request.BadRequestError(
            f"the body declares no upload: {problem}; send {wanted}"
        ) from None
    device_request.checked("`content_type`", read.content_type, device_request.CONTENT_TYPE)
    return read


EXPIRES_S: Final = 15 * 60
"""How long a form may be used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Issuing:
    """All that issuing needs: ``sign`` a form for one body. It counts as the message itself."""

    rate_limiter: RateLimiter
    devices: CachedBoundDevices
    flows: CurrentFlows
    sign: Callable[[str, IssuedUpload], Mapping[str, Any]]
    upload_bytes_max: int

    def ticket(self, event: Mapping[str, Any], *, now_ms: int) -> dict[str, Any]:
        """Issue the upload that a proxy event (API Gateway REST, v1) asks for.

        Gives the answer to a device, which POSTs the body by this form in time. Nothing is stored:
        one that is never used leaves no trace. Raises what reading a request's parts does, and:

        Raises:
            BadRequestError: The body declares nothing.
            PayloadTooLargeError: More is declared than may be uploaded.
            NotItsGatewayError: The sender may not speak for this device.
            RevokedDeviceError: The device, or its gateway, may not send any more.
            TooManyMessagesError: The device, or its gateway, may send again later.
            RegistryUnavailableError: Whether the sender may speak for it is not known.
            FlowsUnavailableError: S3 does not answer; it would not take the body either.
        """
        issued, idempotency_key = self._issued(event, now_ms)
        flow = self.flows.current().by_stream.get(issued.stream)
        raw_id = raw_id_of(
            issued.device_id,
            issued.stream,
            idempotency_key,
            lambda: bytes.fromhex(issued.sha256),
            dedupes_by_content=flow is not None and flow.dedupe_by_content,
        )
        form = self.sign(upload_key(raw_id, issued_millis=now_ms), issued)
        return {"id": raw_id, **form, "expires_after_s": EXPIRES_S}

    def _issued(self, event: Mapping[str, Any], now_ms: int) -> tuple[IssuedUpload, str | None]:
        """What is to be uploaded, and the key with which it is the same message again."""
        sender = device_request.sender_of(event)
        stream = device_request.checked_stream(
            (event.get("pathParameters") or {}).get("stream", "")
        )
        declared = device_request.declared_in(device_request.headers_in(event))
        body = _body(device_request.body_of(event))
        body_bytes, declared["content_type"] = int(body.bytes), body.content_type
        if body_bytes > self.upload_bytes_max:
            raise PayloadTooLargeError(body_bytes, self.upload_bytes_max)
        device_id = body.source.removeprefix(SOURCE_PREFIX) or sender.device_id
        ids = frozenset({device_id})
        senders = Senders.asked(sender, ids, self.devices, self.rate_limiter, now_ms=now_ms)
        device, via = senders.of(device_id), senders.via(device_id)
        is_diverted = self.rate_limiter.is_diverted(
            device_id, stream, now_ms=now_ms, via=via or "", body_bytes=body_bytes
        )
        idempotency_key = declared.pop("idempotency_key", None)
        issued = IssuedUpload(
            device_id=device_id,
            device_type=device.device_type,
            attributes=device.attributes,
            is_quarantined=device.is_quarantined or is_diverted,
            stream=stream,
            body_bytes=body_bytes,
            sha256=body.sha256.lower(),
            via=via,
            **declared,
        )
        return issued, idempotency_key
