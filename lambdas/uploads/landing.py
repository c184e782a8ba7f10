"""Landing an upload: a message that refers to it, once S3 holds it."""

from dataclasses import dataclass
from typing import Protocol

from clients.flows.store import CurrentFlows
from clients.kafka.producer_record import ProducerRecord, raw_record
from clients.s3.upload_bucket import StoredUpload
from fleetlane.events.envelope import Message, PayloadReference
from fleetlane.events.flows.flow import Flow
from fleetlane.events.lanes import Lane, LaneFacts, bulk_cause, lane_for


class Uploads(Protocol):
    """What S3 holds; ``clients.s3.upload_bucket.UploadBucket`` is one."""

    def stored(self, key: str) -> StoredUpload: ...

    def is_landed(self, key: str) -> bool: ...

    def mark_landed(self, key: str) -> None: ...


class RecordLander(Protocol):
    """Writes a record so that it lasts, or raises ``NotDurableError``."""

    def land(self, record: ProducerRecord) -> object: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Landing:
    """All that landing needs. Nothing is spooled: what cannot land now is still in S3."""

    uploads: Uploads
    flows: CurrentFlows
    producer: RecordLander

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
        message = message_of(stored, flow)
        self.producer.land(raw_record(message, flow))
        self.uploads.mark_landed(key)
        return message


def message_of(stored: StoredUpload, flow: Flow | None) -> Message:
    """Make the message of an upload.

    It arrived when S3 held all of it: from then on it was accepted. It is kept whole even where its
    flow truncates: nobody reads it on the way, so nobody can cut it.
    """
    issued, facts = stored.issued, _lane_facts(stored, flow)
    return Message(
        raw_id=stored.raw_id,
        device_id=issued.device_id,
        stream=issued.stream,
        arrival_millis=stored.stored_millis,
        lane=lane_for(facts),
        bulk_cause=bulk_cause(facts),
        body=None,
        body_bytes=issued.body_bytes,
        reference=PayloadReference(key=stored.key, sha256=issued.sha256),
        content_type=issued.content_type,
        device_type=issued.device_type,
        firmware=issued.firmware,
        start_millis=issued.start_millis,
        end_millis=issued.end_millis,
        body_encoding=issued.body_encoding,
        via=issued.via,
    )


def _lane_facts(stored: StoredUpload, flow: Flow | None) -> LaneFacts:
    issued = stored.issued
    age_ms = None if issued.end_millis is None else stored.stored_millis - issued.end_millis
    return LaneFacts(
        declared=Lane.STANDARD if flow is None else flow.lane,
        body_bytes=issued.body_bytes,
        data_age_ms=age_ms,
        is_quarantined=issued.is_quarantined,
    )
