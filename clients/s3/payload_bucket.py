"""Bodies too large for Kafka: put into S3 and confirmed, fetched and checked, copied aside."""

import hashlib
from contextlib import closing
from itertools import islice
from typing import Final

from clients.aws import AwsSettings, S3Client, hasty_config, s3_client
from clients.bucket_objects import BucketObjects
from fleetlane.events.envelope import PayloadReference
from fleetlane.events.errors import FleetlaneError, ParkedReason
from fleetlane.events.s3_keys import PARKED_PAYLOADS, PAYLOADS

BODY_S_MAX: Final = 30.0
"""So long the largest body takes at 2 MiB a second, which S3 is far from inside a region."""

COPY_S_MAX: Final = 20.0
"""S3 copies 64 MiB in a few seconds, and says nothing meanwhile."""


def copying_client(settings: AwsSettings) -> S3Client:
    """A client with the patience that copies take."""
    return s3_client(settings, config=hasty_config(seconds=COPY_S_MAX))


def payload_key(raw_id: str) -> str:
    return PAYLOADS + raw_id


def parked_key(key: str) -> str:
    """Where a payload is copied to in the parked bucket. A key that is there already stays."""
    return key if key.startswith(PARKED_PAYLOADS) else PARKED_PAYLOADS + key


class PayloadTooLargeError(FleetlaneError):
    """The body exceeds the limit. Sending it again cannot succeed."""

    reason = ParkedReason.TOO_LARGE.value
    size_bytes: int
    limit_bytes: int
    sentence = "the body is {size_bytes} bytes; the limit is {limit_bytes} bytes"


class PayloadMissingError(FleetlaneError):
    """The object that a message refers to is not there."""

    reason = ParkedReason.PAYLOAD_MISSING.value
    key: str
    sentence = "there is no payload {key}"


class PayloadCorruptError(FleetlaneError):
    """The object that a message refers to is not the one that was put there."""

    reason = ParkedReason.PAYLOAD_CORRUPT.value
    key: str
    found: str
    wanted: str
    sentence = "payload {key} has {found}; its message says {wanted}"


class PayloadUnavailableError(FleetlaneError):
    """S3 does not answer, or not as it should. Trying again later may succeed."""

    key: str
    problem: str
    sentence = "payload {key} cannot be reached: {problem}"


class PayloadBucket:
    """The bucket that bodies wait in. ``s3`` is a client with time-outs.

    They bound the wait for a piece of a body; ``body_s_max`` bounds that for all of one. Copies
    take ``COPY_S_MAX``: where ``s3`` has less patience, ``copies`` is a ``copying_client``.
    Every method raises ``PayloadUnavailableError`` where S3 does not answer; calling again is safe.
    """

    def __init__(
        self,
        s3: S3Client,
        bucket: str,
        *,
        body_s_max: float = BODY_S_MAX,
        copies: S3Client | None = None,
    ) -> None:
        self._s3, self._bucket, self._body_s_max = s3, bucket, body_s_max
        self._copies = copies or s3
        self._objects = BucketObjects(s3, bucket, PayloadUnavailableError)

    def put(self, key: str, body: bytes, sha256_hex: str) -> PayloadReference:
        """Store ``body``; returns once S3 has it and has found its digest to be ``sha256_hex``."""
        self._objects.put_promptly(key, body, sha256=bytes.fromhex(sha256_hex))
        return PayloadReference(key=key, sha256=sha256_hex)

    def get(self, reference: PayloadReference, *, body_bytes: int, bytes_max: int) -> bytes:
        """Fetch a body, ``body_bytes`` long by its message, and check that it is what was put.

        Raises:
            PayloadTooLargeError: It is larger than ``bytes_max``; nothing was fetched.
            PayloadMissingError: There is no such object.
            PayloadCorruptError: The object has another size or digest.
        """
        if body_bytes > bytes_max:
            raise PayloadTooLargeError(body_bytes, bytes_max)
        body = self._objects.ask(reference.key, lambda: self._read(reference.key, body_bytes))
        if body is None:
            raise PayloadMissingError(reference.key)
        sha256 = hashlib.sha256(body).hexdigest()
        if sha256 != reference.sha256:
            raise PayloadCorruptError(reference.key, f"SHA-256 {sha256}", reference.sha256)
        return body

    def _read(self, key: str, body_bytes: int) -> bytes:
        answer = self._s3.get_object(Bucket=self._bucket, Key=key)
        with closing(answer["Body"]) as stream:  # entered itself it gives urllib3's, and errors
            found = answer["ContentLength"]
            if found != body_bytes:
                raise PayloadCorruptError(key, f"{found} bytes", f"{body_bytes} bytes")
            return b"".join(self._objects.pieces(key, stream, within_s=self._body_s_max))

    def has(self, key: str) -> bool:
        """Whether there is such an object now. Asks by listing: HEAD hides a missing bucket."""
        return any(one["Key"] == key for one in islice(self._objects.listed(key), 1))

    def delete(self, key: str) -> None:
        self._objects.delete(key)

    def copy_to(self, other_bucket: str, key: str, parked_key: str) -> None:
        """Copy an object inside S3, as parking does; raises ``PayloadMissingError``."""
        copied = self._objects.ask(
            key,
            lambda: self._copies.copy_object(
                Bucket=other_bucket, Key=parked_key, CopySource={"Bucket": self._bucket, "Key": key}
            ),
        )
        if copied is None:
            raise PayloadMissingError(key)
