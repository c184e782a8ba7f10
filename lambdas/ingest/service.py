"""Landing one message: its bytes are durable before the device is told so."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, Protocol

from clients.flow_store import FlowsUnavailableError
from clients.kafka_producer import NotDurableError
from clients.payload_bucket import PayloadTooLargeError, payload_key
from clients.producer_record import ProducerRecord
from clients.spool import Spooled
from fleetlane.events.envelope import Message, PayloadReference, headers_of
from fleetlane.events.flow_files import PublishedFlows
from fleetlane.events.flows import Flow
from fleetlane.events.keys import raw_key
from fleetlane.events.lanes import INLINE_BYTES_MAX, Lane
from fleetlane.events.parked import KafkaPosition
from fleetlane.events.topics import raw_topic
from lambdas.ingest.uploads import Upload, message_of

ANSWER_S: Final = 4.75
"""A device waits no longer than this, or little longer: below five seconds with all around it."""


class Landed(StrEnum):
    """Where a message is: in Kafka, whole or with its body in S3; or on its way there, in S3."""

    KAFKA = "kafka"
    OBJECT = "object"
    SPOOL = "spool"


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
    """Writes records so that they last; ``clients.kafka_or_spool.KafkaOrSpool`` is one."""

    def land_all(
        self, records: Sequence[ProducerRecord], *, until_s: float = ...
    ) -> Sequence[KafkaPosition | Spooled | NotDurableError]: ...


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
        """Make a message durable: in Kafka or the spool, a large body in S3 first.

        Blocks until it is, for at most ``ANSWER_S`` or a little longer.

        Raises:
            PayloadTooLargeError: The body is over ``body_bytes_max``; nothing was stored.
            PayloadUnavailableError: S3 did not confirm the body.
            NotDurableError: Neither Kafka nor the spool confirmed the record in time.
        """
        until_s = time.monotonic() + ANSWER_S
        if len(upload.body) > self.body_bytes_max:
            raise PayloadTooLargeError(len(upload.body), self.body_bytes_max)
        flow = self._flow_of(upload.stream)
        message = message_of(upload, flow)
        if message.body_bytes > INLINE_BYTES_MAX:
            reference = self.payloads.put(
                payload_key(message.raw_id), upload.body, upload.body_sha256.hex()
            )
            message = replace(message, body=None, reference=reference)
        record = _record_of(message, _topic_of(message, flow))
        (place,) = self.producer.land_all([record], until_s=until_s)
        if isinstance(place, NotDurableError):
            raise place
        return Receipt(id=message.raw_id, lane=message.lane, landed=_landed(message, place))

    def _flow_of(self, stream: str) -> Flow | None:
        try:
            return self.flows.current().by_stream.get(stream)
        except FlowsUnavailableError as problem:
            self.on_flows_unavailable(problem)
            return None


def _landed(message: Message, place: KafkaPosition | Spooled) -> Landed:
    if isinstance(place, Spooled):
        return Landed.SPOOL
    return Landed.KAFKA if message.reference is None else Landed.OBJECT


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
