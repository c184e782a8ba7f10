"""Landing one message: its bytes are durable before the device is told so."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Protocol

from clients.flow_store import FlowsUnavailableError
from clients.payload_bucket import PayloadTooLargeError, payload_key
from clients.producer_record import ProducerRecord
from fleetlane.events.envelope import Message, PayloadReference, headers_of
from fleetlane.events.flow_files import PublishedFlows
from fleetlane.events.flows import Flow
from fleetlane.events.keys import raw_key
from fleetlane.events.lanes import INLINE_BYTES_MAX, Lane
from fleetlane.events.topics import raw_topic
from lambdas.ingest.uploads import Upload, message_of


class Landed(StrEnum):
    """Where the bytes of a body are."""

    KAFKA = "kafka"
    OBJECT = "object"


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """The answer to a device: its message is durable, and this is its id."""

    id: str
    lane: Lane
    landed: Landed
    next_upload_after_s: int = 0


class Flows(Protocol):
    """Where the flows in force are asked for."""

    def current(self) -> PublishedFlows: ...


class Admits(Protocol):
    """Decides whether a device may send one more message, and whether it goes to the slow lane."""

    def goes_aside(self, device_id: str, *, now_ms: int) -> bool: ...


class RecordLander(Protocol):
    """Writes a record so that it lasts, or raises ``NotDurableError``."""

    def land(self, record: ProducerRecord) -> object: ...


class PayloadStore(Protocol):
    """Stores a body so that it lasts, or raises ``PayloadUnavailableError``."""

    def put(self, key: str, body: bytes, sha256_hex: str) -> PayloadReference: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingest:
    """All that landing a message needs.

    ``on_flows_unavailable`` is told when the flows cannot be read: messages land all the same, as
    those of a stream without a flow do.
    """

    admission: Admits
    flows: Flows
    producer: RecordLander
    payloads: PayloadStore
    body_bytes_max: int
    on_flows_unavailable: Callable[[FlowsUnavailableError], None]

    def land(self, upload: Upload) -> Receipt:
        """Make a message durable: in Kafka, a large body in S3 first. Blocks until it is.

        Raises:
            DeviceRevokedError: The device may not send any more.
            TooManyMessagesError: The device may send again later.
            PayloadTooLargeError: The body is over ``body_bytes_max``; nothing was stored.
            PayloadUnavailableError: S3 did not confirm the body.
            NotDurableError: Kafka did not confirm the record in time.
        """
        if len(upload.body) > self.body_bytes_max:
            raise PayloadTooLargeError(len(upload.body), self.body_bytes_max)
        if self.admission.goes_aside(upload.device_id, now_ms=upload.arrival_millis):
            upload = replace(upload, is_quarantined=True)
        flow = self._flow_of(upload.stream)
        message = message_of(upload, flow)
        if message.body_bytes > INLINE_BYTES_MAX:
            reference = self.payloads.put(
                payload_key(message.raw_id), upload.body, upload.body_sha256.hex()
            )
            message = replace(message, body=None, reference=reference)
        self.producer.land(_record_of(message, _topic_of(message, flow)))
        landed = Landed.KAFKA if message.reference is None else Landed.OBJECT
        return Receipt(id=message.raw_id, lane=message.lane, landed=landed)

    def _flow_of(self, stream: str) -> Flow | None:
        try:
            return self.flows.current().by_stream.get(stream)
        except FlowsUnavailableError as problem:
            self.on_flows_unavailable(problem)
            return None


def _topic_of(message: Message, flow: Flow | None) -> str:
    if flow is None:
        return raw_topic(message.lane, stream=message.stream)
    return flow.raw_topic(message.lane, device_type=message.device_type)


def _record_of(message: Message, topic: str) -> ProducerRecord:
    return ProducerRecord(
        topic=topic,
        key=raw_key(message.arrival_millis),
        value=message.body,
        headers=headers_of(message),
    )
