"""Landing one message: its bytes are durable before the device is told so."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Protocol

from clients.flow_store import FlowsUnavailableError
from clients.payload_bucket import PayloadTooLargeError, PayloadUnavailableError, payload_key
from clients.producer_record import ProducerRecord
from fleetlane.events.envelope import Message, PayloadReference, headers_of
from fleetlane.events.errors import FleetlaneError
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


class Notice(StrEnum):
    """What a device should know beside its receipt. Closed: firmware may switch over it."""

    NOT_FAST = "not_fast"
    TRUNCATED = "truncated"
    REPEATED = "repeated"
    KEY_REUSED = "key_reused"


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """The answer to a device: its message is durable, and this is its id."""

    id: str
    lane: Lane
    landed: Landed
    next_upload_after_s: int = 0
    notices: tuple[Notice, ...] = ()


class Flows(Protocol):
    """Where the flows in force are asked for."""

    def current(self) -> PublishedFlows: ...


class RecordLander(Protocol):
    """Writes records so that they last; raises ``NotDurableError``, or gives it in a place."""

    def land(self, record: ProducerRecord) -> object: ...

    def land_all(self, records: Sequence[ProducerRecord]) -> Sequence[object]: ...


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
        self.check_size(len(upload.body))
        message, topic = self._prepared(upload)
        self.producer.land(_record_of(message, topic))
        return _receipt_of(message)

    def land_all(self, uploads: Sequence[Upload]) -> list[Receipt | FleetlaneError]:
        """Do so with many, all waits together: S3's for the large bodies, then Kafka's for all.

        In the place of a message that is not durable stands the error that ``land`` would raise.
        """
        prepared = self._all_prepared(uploads)
        records = [_record_of(*one) for one in prepared if not isinstance(one, FleetlaneError)]
        landed = iter(self.producer.land_all(records))
        return [
            one if isinstance(one, FleetlaneError) else _outcome(one[0], next(landed))
            for one in prepared
        ]

    def check_size(self, size_bytes: int) -> None:
        """Refuse what is over ``body_bytes_max``.

        Raises:
            PayloadTooLargeError: It is.
        """
        if size_bytes > self.body_bytes_max:
            raise PayloadTooLargeError(size_bytes, self.body_bytes_max)

    def _prepared(self, upload: Upload) -> tuple[Message, str]:
        """The message and its topic; a large body is in S3 by then."""
        flow = self._flow_of(upload.stream)
        message = message_of(upload, flow)
        if message.body_bytes > INLINE_BYTES_MAX:
            reference = self.payloads.put(
                payload_key(message.raw_id), upload.body, upload.body_sha256.hex()
            )
            message = replace(message, body=None, reference=reference)
        return message, _topic_of(message, flow)

    def _all_prepared(
        self, uploads: Sequence[Upload]
    ) -> list[tuple[Message, str] | PayloadUnavailableError]:
        large = [one for one in uploads if len(one.body) > INLINE_BYTES_MAX]
        if len(large) <= 1:
            return [self._tried(one) for one in uploads]
        with ThreadPoolExecutor(len(large)) as pool:  # so few fit into one request
            return list(pool.map(self._tried, uploads))

    def _tried(self, upload: Upload) -> tuple[Message, str] | PayloadUnavailableError:
        try:
            return self._prepared(upload)
        except PayloadUnavailableError as problem:
            return problem

    def _flow_of(self, stream: str) -> Flow | None:
        try:
            return self.flows.current().by_stream.get(stream)
        except FlowsUnavailableError as problem:
            self.on_flows_unavailable(problem)
            return None


def _receipt_of(message: Message) -> Receipt:
    landed = Landed.KAFKA if message.reference is None else Landed.OBJECT
    return Receipt(id=message.raw_id, lane=message.lane, landed=landed)


def _outcome(message: Message, landed: object) -> Receipt | FleetlaneError:
    return landed if isinstance(landed, FleetlaneError) else _receipt_of(message)


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
