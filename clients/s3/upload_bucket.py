"""Bodies that devices upload straight to S3: the form for one, what is stored, whether it landed.

No body is read here.
"""

import base64
from dataclasses import dataclass
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Any, Final

import msgspec
from botocore.config import Config

from clients.aws import AwsSettings, S3Client, client_config, s3_client
from clients.bucket_objects import BucketObjects
from clients.s3.payload_bucket import PayloadMissingError, PayloadUnavailableError
from fleetlane.events.envelope import Sent
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.names import is_raw_id
from fleetlane.events.s3_keys import LANDED_UPLOADS, UPLOAD_SWEEP_KEY, UPLOADS
from fleetlane.events.times import hour_bucket, rfc3339

if TYPE_CHECKING:
    from mypy_boto3_s3.type_defs import HeadObjectOutputTypeDef

UPLOAD_FIELD: Final = "upload"
"""The name of the metadata. S3 keeps at most 2 KB of them; the longest of ours is 1.9 KB."""


class NotAnUploadError(FleetlaneError):
    """An object that no device uploaded by a form of ours. It can never land."""

    key: str
    problem: str
    sentence = "{key!r:.200} is no upload of a device: {problem}"


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


def issued_from(metadata: str, *, key: str) -> IssuedUpload:
    """Read what ``to_metadata`` wrote, here or in a newer version; ``key`` is for people.

    Raises ``NotAnUploadError``.
    """
    try:
        return msgspec.json.decode(base64.urlsafe_b64decode(metadata), type=IssuedUpload)
    except ValueError as problem:
        why = f"its metadata were not written by Fleetlane: {problem}"
        raise NotAnUploadError(key, why) from None


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


def upload_key(raw_id: str, *, issued_millis: int) -> str:
    """Name an upload: ``uploads/2026-11-03T14-05/<raw id>``. Keys are in the order of issue."""
    minute = rfc3339(issued_millis)[:16].replace(":", "-")
    return f"{UPLOADS}{minute}/{raw_id}"


def issued_since(millis: int) -> str:
    """A key before all uploads issued in this hour or later, and behind all earlier ones."""
    return UPLOADS + hour_bucket(millis)


def raw_id_in(key: str) -> str:
    """Read the raw id in an upload's key; raises ``NotAnUploadError``."""
    folder, _, raw_id = key.rpartition("/")
    if not folder.startswith(UPLOADS) or not is_raw_id(raw_id):
        raise NotAnUploadError(key, "its key is not uploads/<minute>/<raw id>")
    return raw_id


def landed_key(key: str) -> str:
    """Name the mark of an upload that landed; marks are in the order of their uploads."""
    return LANDED_UPLOADS + key.removeprefix(UPLOADS)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredUpload:
    """A body that S3 holds, as it was issued. ``stored_millis`` are S3's, whole seconds."""

    key: str
    raw_id: str
    stored_millis: int
    issued: IssuedUpload


class UploadBucket:
    """The uploads in the payload bucket, each with a mark beside it once it landed.

    Every method raises ``PayloadUnavailableError`` while S3 does not answer as it should.
    """

    def __init__(self, s3: S3Client, bucket: str) -> None:
        self._s3, self._bucket = s3, bucket
        self._objects = BucketObjects(s3, bucket, PayloadUnavailableError)

    def stored(self, key: str) -> StoredUpload:
        """Look at an upload without reading it.

        Raises ``NotAnUploadError`` where it came by no form of ours, or S3 did not check it; and
        ``PayloadMissingError``.
        """
        raw_id = raw_id_in(key)
        head = self._head(key)
        if head is None:
            raise PayloadMissingError(key)
        return StoredUpload(
            key=key,
            raw_id=raw_id,
            stored_millis=int(head["LastModified"].timestamp()) * 1000,
            issued=_checked(key, head),
        )

    def is_landed(self, key: str) -> bool:
        return self._head(landed_key(key)) is not None

    def mark_landed(self, key: str) -> None:
        """Mark an upload, once Kafka holds its message; marking twice is fine."""
        self._objects.put(landed_key(key), b"")

    def listed(self, *, after: str, uploads_max: int) -> dict[str, int]:
        """The uploads behind a key, oldest first, and when S3 took each, in milliseconds."""
        return {
            one["Key"]: int(one["LastModified"].timestamp()) * 1000
            for one in islice(self._objects.listed(UPLOADS, after=after), uploads_max)
        }

    def landed_between(self, *, after: str, last: str) -> frozenset[str]:
        """The keys of the uploads behind ``after``, up to ``last``, that have their mark."""
        marks = self._objects.listed(LANDED_UPLOADS, after=landed_key(after))
        keys = (UPLOADS + one["Key"].removeprefix(LANDED_UPLOADS) for one in marks)
        return frozenset(takewhile(lambda key: key <= last, keys))

    def sweep_position(self) -> str:
        """Where the next sweep goes on: behind this key. Empty before the first one."""
        found = self._objects.get(UPLOAD_SWEEP_KEY)
        return "" if found is None else found.body.decode()

    def keep_sweep_position(self, key: str) -> None:
        self._objects.put(UPLOAD_SWEEP_KEY, key.encode())

    def _head(self, key: str) -> "HeadObjectOutputTypeDef | None":
        return self._objects.ask(
            key, lambda: self._s3.head_object(Bucket=self._bucket, Key=key, ChecksumMode="ENABLED")
        )


def _checked(key: str, head: "HeadObjectOutputTypeDef") -> IssuedUpload:
    """What was issued, if the object is that; S3 says so, and we need not read it."""
    metadata = head["Metadata"].get(UPLOAD_FIELD)
    if metadata is None:
        raise NotAnUploadError(key, "it has none of our metadata")
    issued = issued_from(metadata, key=key)
    size_bytes, digest = head["ContentLength"], head.get("ChecksumSHA256")
    if size_bytes != issued.body_bytes:
        raise NotAnUploadError(key, f"it has {size_bytes} bytes, {issued.body_bytes} were issued")
    if digest != issued.sha256_base64:
        found = f"S3 vouches for SHA-256 {digest}, {issued.sha256_base64} was issued"
        raise NotAnUploadError(key, found)
    return issued
