"""Where a payload is now: where it landed, with parked payloads, or nowhere any more."""

from copy import replace
from typing import Final

from clients.kafka.reader import Record
from clients.s3.payload_bucket import PayloadBucket, parked_key
from fleetlane.events import headers as ce
from fleetlane.events.envelope import Message, PayloadReference
from fleetlane.events.lanes import BUFFER_BYTES_MAX
from operations.messages.parked import message_in

_REFERENCE_HEADERS: Final = frozenset({ce.DATA_REF, ce.DATA_SHA256})


class StoredPayloads:
    """Both buckets: what landed expires, what is parked does not."""

    def __init__(self, *, landed: PayloadBucket, parked: PayloadBucket) -> None:
        self._landed, self._parked = landed, parked

    def located(self, reference: PayloadReference) -> PayloadReference | None:
        """A reference that the jobs can follow now; ``None`` where the payload is gone.

        Raises:
            PayloadUnavailableError: S3 does not say.
        """
        kept = replace(reference, key=parked_key(reference.key))
        if kept != reference and self._landed.has(reference.key):
            return reference
        return kept if self._parked.has(kept.key) else None

    def body_of(self, message: Message) -> bytes:
        """The bytes that the device sent; raises the errors of ``PayloadBucket.get``."""
        reference = message.reference
        if reference is None:
            return message.body or b""
        found = self.located(reference) or reference
        bucket = self._parked if found.key == parked_key(found.key) else self._landed
        return bucket.get(found, body_bytes=message.body_bytes, bytes_max=BUFFER_BYTES_MAX)

    def self_contained(self, record: Record) -> Record:
        """A stored record with its body by value, fetched if need be: a file needs no bucket.

        Raises:
            PayloadMissingError: The payload is gone.
            PayloadCorruptError, PayloadTooLargeError, PayloadUnavailableError: It is not available.
        """
        message = message_in(record)
        if message is None or message.reference is None:
            return record
        headers = (one for one in record.headers if one[0].lower() not in _REFERENCE_HEADERS)
        return replace(record, value=self.body_of(message), headers=tuple(headers))
