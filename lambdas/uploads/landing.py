"""Landing an upload: a message that refers to it, once S3 holds it."""

from collections.abc import Callable
from copy import replace
from dataclasses import dataclass
from typing import Protocol

from clients.flows.store import CurrentFlows
from clients.kafka.producer_record import ProducerRecord, raw_record
from clients.s3.upload_bucket import StoredUpload
from fleetlane.events.envelope import Message, PayloadReference, Sent
from fleetlane.events.flows.flow import Flow
from lambdas.http.arrived import Arrived, message_of


class Uploads(Protocol):
    """What S3 holds; ``clients.s3.upload_bucket.UploadBucket`` is one."""

    def stored(self, key: str) -> StoredUpload: ...
    def is_landed(self, key: str) -> bool: ...
    def mark_landed(self, key: str) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Landing:
    """All that landing needs. Nothing is spooled: what cannot land now is still in S3."""

    uploads: Uploads
    flows: CurrentFlows
    land_record: Callable[[ProducerRecord], object]  # as ``KafkaProducer.land``

    def land(self, key: str) -> Message | None:
        """Land an upload, unless it landed before: then ``None``.

        Two who land it at once give two records of one message: id, arrival and body are equal.

        Raises:
            NotAnUploadError: It can never land.
            PayloadMissingError: There is no such object.
            NotDurableError: Kafka did not confirm the record in time.
            PayloadUnavailableError: S3 does not answer.
            FlowsUnavailableError: S3 does not give the flows.
        """
        if self.uploads.is_landed(key):
            return None
        stored = self.uploads.stored(key)
        flow = self.flows.current().by_stream.get(stored.issued.stream)
        message = _message_of(stored, flow)
        self.land_record(raw_record(message, flow))
        self.uploads.mark_landed(key)
        return message


def _message_of(stored: StoredUpload, flow: Flow | None) -> Message:
    """Make the message of an upload.

    It arrived when S3 held all of it: from then on it was accepted. It is kept whole even where its
    flow truncates: nobody reads it on the way, so nobody can cut it.
    """
    issued = stored.issued
    sent = {name: getattr(issued, name) for name in Sent.__struct_fields__}
    arrived = Arrived(arrival_millis=stored.stored_millis, **sent)
    message = message_of(arrived, flow, stored.raw_id, body=None, body_bytes=issued.body_bytes)
    return replace(message, reference=PayloadReference(key=stored.key, sha256=issued.sha256))
