"""Landing one message: its bytes are durable before the device is told so."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Protocol

from clients.flow_store import FlowsUnavailableError
from clients.payload_bucket import PayloadTooLargeError, payload_key
from clients.producer_record import ProducerRecord
from clients.raw_record import raw_record
from fleetlane.events.envelope import PayloadReference
from fleetlane.events.flow_files import PublishedFlows
from fleetlane.events.flows import Flow
from fleetlane.events.lanes import INLINE_BYTES_MAX, Lane
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

    flows: Flows
    producer: RecordLander
    payloads: PayloadStore
    body_bytes_max: int
    on_flows_unavailable: Callable[[FlowsUnavailableError], None]

    def land(self, upload: Upload) -> Receipt:
        """Make a message durable: in Kafka, a large body in S3 first. Blocks until it is.

        Raises:
            PayloadTooLargeError: The body is over ``body_bytes_max``; nothing was stored.
            PayloadUnavailableError: S3 did not confirm the body.
            NotDurableError: Kafka did not confirm the record in time.
        """
        if len(upload.body) > self.body_bytes_max:
            raise PayloadTooLargeError(len(upload.body), self.body_bytes_max)
        flow = self._flow_of(upload.stream)
        message = message_of(upload, flow)
        if message.body_bytes > INLINE_BYTES_MAX:
            reference = self.payloads.put(
                payload_key(message.raw_id), upload.body, upload.body_sha256.hex()
            )
            message = replace(message, body=None, reference=reference)
        self.producer.land(raw_record(message, flow))
        landed = Landed.KAFKA if message.reference is None else Landed.OBJECT
        return Receipt(id=message.raw_id, lane=message.lane, landed=landed)

    def _flow_of(self, stream: str) -> Flow | None:
        try:
            return self.flows.current().by_stream.get(stream)
        except FlowsUnavailableError as problem:
            self.on_flows_unavailable(problem)
            return None
