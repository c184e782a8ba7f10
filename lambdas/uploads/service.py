"""Issuing one upload: its id and its envelope are fixed before a byte of it is sent."""

from dataclasses import dataclass
from typing import Protocol

from clients.issued_upload import IssuedUpload, UploadTooLargeError
from clients.upload_form import UploadForm
from clients.upload_keys import upload_key
from fleetlane.events.flow_files import PublishedFlows
from fleetlane.events.ids import RawIdRule
from lambdas.uploads.declaration import Declaration


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadTicket:
    """The answer to a device: POST the body by this form in time, and it is accepted."""

    id: str
    url: str
    fields: dict[str, str]
    expires_after_s: int


class Flows(Protocol):
    """Where the flows in force are asked for."""

    def current(self) -> PublishedFlows: ...


class Forms(Protocol):
    """Signs a form for one body."""

    def signed(self, key: str, issued: IssuedUpload) -> UploadForm: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Issuing:
    """All that issuing needs."""

    flows: Flows
    forms: Forms
    upload_bytes_max: int
    expires_s: int

    def ticket(self, declaration: Declaration, *, now_ms: int) -> UploadTicket:
        """Issue an upload. Nothing is stored: one that is never used leaves no trace.

        Raises:
            UploadTooLargeError: More is declared than may be uploaded.
            FlowsUnavailableError: S3 does not answer; it would not take the body either.
        """
        upload = declaration.upload
        if upload.body_bytes > self.upload_bytes_max:
            raise UploadTooLargeError(upload.body_bytes, self.upload_bytes_max)
        raw_id = self._raw_id(declaration)
        form = self.forms.signed(upload_key(raw_id, issued_millis=now_ms), upload)
        return UploadTicket(
            id=raw_id, url=form.url, fields=form.fields, expires_after_s=self.expires_s
        )

    def _raw_id(self, declaration: Declaration) -> str:
        upload = declaration.upload
        flow = self.flows.current().by_stream.get(upload.stream)
        rule = RawIdRule(
            device_id=upload.device_id,
            stream=upload.stream,
            idempotency_key=declaration.idempotency_key,
            dedupes_by_content=flow is not None and flow.dedupe_by_content,
        )
        return rule.raw_id(lambda: bytes.fromhex(upload.sha256))
