"""Forms with which a device uploads one body straight to S3, and no other."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import boto3
from botocore.config import Config

from clients.aws import AwsSettings, client_config
from clients.s3.issued_upload import UPLOAD_FIELD, IssuedUpload

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client

_CHECKSUM: Final = "x-amz-checksum-sha256"
_ALGORITHM: Final = "x-amz-checksum-algorithm"


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadForm:
    """Where to POST, as ``multipart/form-data``: all ``fields``, then the body as ``file``."""

    url: str
    fields: dict[str, str]


class UploadForms:
    """Signs forms; nothing is sent. ``s3`` is a client of ``signing_client``."""

    def __init__(self, s3: "S3Client", bucket: str, *, expires_s: int) -> None:
        self._s3, self._bucket, self._expires_s = s3, bucket, expires_s

    def signed(self, key: str, issued: IssuedUpload) -> UploadForm:
        """Sign a form that S3 takes for this key alone, and for a body of this size and digest.

        Every field is a condition of the policy: S3 refuses one that is changed, left out or added.
        It computes the digest itself and keeps nothing of a body with another one.
        """
        fields = {
            _ALGORITHM: "SHA256",
            _CHECKSUM: issued.sha256_base64,
            f"x-amz-meta-{UPLOAD_FIELD}": issued.to_metadata(),
        }
        form = self._s3.generate_presigned_post(
            Bucket=self._bucket,
            Key=key,
            Fields=dict(fields),
            Conditions=[
                *({name: value} for name, value in fields.items()),
                ["content-length-range", issued.body_bytes, issued.body_bytes],
            ],
            ExpiresIn=self._expires_s,
        )
        return UploadForm(url=form["url"], fields=form["fields"])


def signing_client(settings: AwsSettings) -> "S3Client":
    """Open a client whose forms name the bucket's host in its region: no device is redirected."""
    return boto3.client(
        "s3",
        endpoint_url=settings.endpoint_url,
        region_name=settings.region,
        config=client_config().merge(
            Config(signature_version="s3v4", s3={"addressing_style": "virtual"})
        ),
    )
