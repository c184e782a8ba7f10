"""Issuing one upload: its id and its envelope are fixed before a byte of it is sent."""

from dataclasses import dataclass
from typing import Final, Protocol

from clients.devices.bound_devices import CachedBoundDevices
from clients.flows.store import CurrentFlows
from clients.s3.issued_upload import IssuedUpload, UploadTooLargeError
from clients.s3.upload_form import UploadForm
from clients.s3.upload_keys import upload_key
from fleetlane.events.names import RawIdRule
from lambdas.http.rate_limiter import RateLimiter
from lambdas.http.senders import Senders
from lambdas.uploads.declaration import Declaration

EXPIRES_S: Final = 15 * 60
"""How long a form may be used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadTicket:
    """The answer to a device: POST the body by this form in time, and it is accepted."""

    id: str
    url: str
    fields: dict[str, str]
    expires_after_s: int


class Forms(Protocol):
    """Signs a form for one body."""

    def signed(self, key: str, issued: IssuedUpload) -> UploadForm: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Issuing:
    """All that issuing needs. A form counts as the message that it is for."""

    rate_limiter: RateLimiter
    devices: CachedBoundDevices
    flows: CurrentFlows
    forms: Forms
    upload_bytes_max: int

    def ticket(self, declaration: Declaration, *, now_ms: int) -> UploadTicket:
        """Issue an upload. Nothing is stored: one that is never used leaves no trace.

        Raises:
            UploadTooLargeError: More is declared than may be uploaded.
            NotItsGatewayError: The sender may not speak for this device.
            RevokedDeviceError: The device, or its gateway, may not send any more.
            TooManyMessagesError: The device may send again later.
            RegistryUnavailableError: Whether the sender may speak for it is not known.
            FlowsUnavailableError: S3 does not answer; it would not take the body either.
        """
        if declaration.body_bytes > self.upload_bytes_max:
            raise UploadTooLargeError(declaration.body_bytes, self.upload_bytes_max)
        issued = self._issued(declaration, now_ms)
        raw_id = self._raw_id(declaration)
        form = self.forms.signed(upload_key(raw_id, issued_millis=now_ms), issued)
        return UploadTicket(id=raw_id, url=form.url, fields=form.fields, expires_after_s=EXPIRES_S)

    def _issued(self, declaration: Declaration, now_ms: int) -> IssuedUpload:
        device_id = declaration.device_id
        senders = Senders.asked(declaration.sender, frozenset({device_id}), self.devices)
        device, via = senders.of(device_id), senders.via(device_id)
        is_diverted = self.rate_limiter.is_diverted(device_id, now_ms=now_ms, via=via)
        return IssuedUpload(
            device_id=device_id,
            device_type=device.device_type,
            is_quarantined=device.is_quarantined or is_diverted,
            stream=declaration.stream,
            body_bytes=declaration.body_bytes,
            sha256=declaration.sha256,
            content_type=declaration.content_type,
            firmware=declaration.firmware,
            start_millis=declaration.start_millis,
            end_millis=declaration.end_millis,
            body_encoding=declaration.body_encoding,
            via=via,
        )

    def _raw_id(self, declaration: Declaration) -> str:
        flow = self.flows.current().by_stream.get(declaration.stream)
        rule = RawIdRule(
            device_id=declaration.device_id,
            stream=declaration.stream,
            idempotency_key=declaration.idempotency_key,
            dedupes_by_content=flow is not None and flow.dedupe_by_content,
        )
        return rule.raw_id(lambda: bytes.fromhex(declaration.sha256))
