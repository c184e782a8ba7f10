"""Payloads by reference: where they wait, and where they go when their message is parked."""

from hashlib import sha256
from typing import Protocol

from clients.s3.payload_bucket import PayloadUnavailableError, parked_key
from fleetlane.events.envelope import PayloadReference
from fleetlane.events.lanes import BUFFER_BYTES_MAX


class Bucket(Protocol):
    """A bucket of payloads; ``clients.s3.payload_bucket.PayloadBucket`` is one."""

    def get(self, reference: PayloadReference, *, body_bytes: int, bytes_max: int) -> bytes: ...

    def put(self, key: str, body: bytes, sha256_hex: str) -> PayloadReference: ...

    def copy_to(self, other_bucket: str, key: str, parked_key: str) -> None: ...

    def has(self, key: str) -> bool: ...


class Payloads:
    """Two buckets: what landed has a TTL, what is parked is kept for ever."""

    def __init__(self, *, landed: Bucket, parked: Bucket, parked_bucket: str) -> None:
        self._landed, self._parked, self._parked_bucket = landed, parked, parked_bucket

    def fetched(self, reference: PayloadReference, *, body_bytes: int) -> bytes:
        """Fetch a body and check its size and digest; raises the errors of ``PayloadBucket``.

        What cannot be reached is asked for once more, beside the tries of the client itself: that
        does not repeat a body which broke off. May be called by several threads at once.
        """
        bucket = self._bucket_of(reference)
        try:
            return bucket.get(reference, body_bytes=body_bytes, bytes_max=BUFFER_BYTES_MAX)
        except PayloadUnavailableError:
            return bucket.get(reference, body_bytes=body_bytes, bytes_max=BUFFER_BYTES_MAX)

    def answers(self, reference: PayloadReference) -> bool:
        """Whether S3 answers at all, by asking it for the name of a payload, not for its bytes."""
        try:
            self._bucket_of(reference).has(reference.key)
        except PayloadUnavailableError:
            return False
        return True

    def kept(self, reference: PayloadReference) -> PayloadReference:
        """Copy a payload to where nothing expires, before its message is parked.

        Raises:
            PayloadMissingError: There is nothing to copy.
            PayloadUnavailableError: S3 did not confirm the copy.
        """
        if _is_parked(reference):
            return reference
        key = parked_key(reference.key)
        self._landed.copy_to(self._parked_bucket, reference.key, key)
        return PayloadReference(key=key, sha256=reference.sha256)

    def stored(self, body: bytes, *, name: str) -> PayloadReference:
        """Keep for ever a body that no parked record could hold."""
        return self._parked.put(parked_key(name), body, sha256(body).hexdigest())

    def _bucket_of(self, reference: PayloadReference) -> Bucket:
        return self._parked if _is_parked(reference) else self._landed


def _is_parked(reference: PayloadReference) -> bool:
    return reference.key == parked_key(reference.key)
