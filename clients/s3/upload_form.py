"""Forms with which a device uploads one body straight to S3, and no other."""

import base64
from typing import Any, Final

import msgspec
from botocore.config import Config

from clients.aws import AwsSettings, S3Client, client_config, s3_client
from fleetlane.events.envelope import Sent
from fleetlane.events.errors import FleetlaneError

UPLOAD_FIELD: Final = "upload"
"""The name of the metadata. S3 keeps at most 2 KB of them; the longest of ours is 1.6 KB."""


class NotIssuedError(FleetlaneError):
    """Metadata of an object are not what we wrote for an upload."""

    problem: str
    sentence = "its metadata were not written by Fleetlane: {problem}"


class IssuedUpload(Sent, frozen=True, kw_only=True):
    """All that a message's envelope needs and its key does not say. ``sha256`` is hexadecimal."""

    body_bytes: int
    sha256: str

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


def signed_form(
    s3: S3Client, bucket: str, key: str, issued: IssuedUpload, *, expires_s: int
) -> dict[str, Any]:
    """Sign a form that S3 takes for this key alone, and for a body of this size and digest.

    ``url`` is where to POST, as ``multipart/form-data``: all ``fields``, then the body as ``file``.
    Nothing is sent; ``s3`` is a client of ``signing_client``. Every field is a condition of the
    policy: S3 refuses one that is changed, left out or added. It computes the digest itself and
    keeps nothing of a body with another one.
    """
    fields = {
        "x-amz-checksum-algorithm": "SHA256",
        "x-amz-checksum-sha256": issued.sha256_base64,
        f"x-amz-meta-{UPLOAD_FIELD}": issued.to_metadata(),
    }
    return s3.generate_presigned_post(
        Bucket=bucket,
        Key=key,
        Fields=dict(fields),
        Conditions=[
            *({name: value} for name, value in fields.items()),
            ["content-length-range", issued.body_bytes, issued.body_bytes],
        ],
        ExpiresIn=expires_s,
    )


def signing_client(settings: AwsSettings) -> S3Client:
    """Open a client whose forms name the bucket's host in its region: no device is redirected."""
    signing = Config(signature_version="s3v4", s3={"addressing_style": "virtual"})
    return s3_client(settings, config=client_config().merge(signing))
