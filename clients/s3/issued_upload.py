"""What is fixed when an upload is issued, as it travels in the object's signed metadata."""

import base64
from dataclasses import dataclass
from typing import Final

import msgspec

from fleetlane.events.errors import FleetlaneError

UPLOAD_FIELD: Final = "upload"
"""The name of the metadata. S3 keeps at most 2 KB of them; the longest of ours is 1.6 KB."""


class UploadTooLargeError(FleetlaneError):
    """The body exceeds what may be uploaded. Sending it again cannot succeed."""

    reason = "too_large"
    size_bytes: int
    limit_bytes: int
    sentence = "the upload is {size_bytes} bytes; the limit is {limit_bytes} bytes"


class NotIssuedError(FleetlaneError):
    """Metadata of an object are not what we wrote for an upload."""

    reason = "not_issued"
    problem: str
    sentence = "its metadata are not ours: {problem}"


@dataclass(frozen=True, slots=True, kw_only=True)
class IssuedUpload:
    """All that a message's envelope needs and its key does not say. ``sha256`` is hexadecimal."""

    device_id: str
    device_type: str
    is_quarantined: bool
    stream: str
    body_bytes: int
    sha256: str
    content_type: str
    firmware: str | None = None
    start_millis: int | None = None
    end_millis: int | None = None
    body_encoding: str | None = None
    via: str | None = None

    @property
    def sha256_base64(self) -> str:
        """The digest as S3 writes it."""
        return base64.b64encode(bytes.fromhex(self.sha256)).decode()

    def to_metadata(self) -> str:
        """Write it without a character that a header or a policy would have to escape."""
        return base64.urlsafe_b64encode(msgspec.json.encode(self)).decode()


def issued_from(metadata: str) -> IssuedUpload:
    """Read what ``to_metadata`` wrote, here or in a newer version; raises ``NotIssuedError``."""
    try:
        return msgspec.json.decode(base64.urlsafe_b64decode(metadata), type=IssuedUpload)
    except ValueError as problem:
        raise NotIssuedError(str(problem)) from None
