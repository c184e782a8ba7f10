"""Landing one message: its bytes are durable before the device gets its receipt."""

import hashlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import replace
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Final, Protocol

import msgspec

from clients.kafka.producer import NotDurableError
from clients.kafka.producer_record import ProducerRecord, raw_record
from clients.s3.payload_bucket import PayloadTooLargeError, PayloadUnavailableError, payload_key
from clients.s3.spool import Spooled
from fleetlane.events.envelope import KafkaPosition, Message, PayloadReference
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.flows.flow import Flow
from fleetlane.events.lanes import INLINE_BYTES_MAX, Lane
from fleetlane.events.metrics import NO_FLOW_STREAM
from fleetlane.events.names import raw_id_of
from lambdas.http.arrived import Arrived, message_of
from lambdas.ingest.sink_health import Condition, Sink, SinkHealth


class InboundMessage(Arrived, frozen=True, kw_only=True, dict=True):
    """What a device sent in a request."""

    body: bytes
    idempotency_key: str | None = None
    registered_ms: int = 0

    @cached_property
    def body_sha256(self) -> bytes:
        return hashlib.sha256(self.body).digest()


def _message_of(inbound: InboundMessage, flow: Flow | None) -> Message:
    """Its body is inside, whatever its size, unless its flow cuts it."""
    body = inbound.body
    raw_id = raw_id_of(
        inbound.device_id,
        inbound.stream,
        inbound.idempotency_key,
        lambda: inbound.body_sha256,
        dedupes_by_content=flow is not None and flow.dedupe_by_content,
    )
    is_cut = flow is not None and flow.oversize == "truncate" and len(body) > INLINE_BYTES_MAX
    kept = body[:INLINE_BYTES_MAX] if is_cut else body
    message = message_of(inbound, flow, raw_id, body=kept, body_bytes=len(kept))
    return replace(message, truncated_from_bytes=len(body)) if is_cut else message


ANSWER_S: Final = 4.75
"""A device waits no longer than this, or little longer: below five seconds with all around it."""


class Landed(StrEnum):
    """Where a message is: in Kafka, whole or with its body in S3; or on its way there, in S3."""

    KAFKA = "kafka"
    OBJECT = "object"
    SPOOL = "spool"


class Notice(StrEnum):
    """What a device should know beside its receipt. Firmware ignores what it does not know."""

    NOT_FAST = "not_fast"
    TRUNCATED = "truncated"
    REPEATED = "repeated"
    KEY_REUSED = "key_reused"
    NO_FLOW = "no_flow"


class BodyTooLargeError(PayloadTooLargeError):
    """The body exceeds what the API takes. It may be uploaded instead."""

    sentence = PayloadTooLargeError.sentence + "; POST /v1/uploads/{{stream}} takes more"


class Receipt(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a device: its message is durable, and this is its id.

    ``counted_stream`` is ours alone: under which stream the message counts as accepted. ``None``
    where it was counted before, with the first receipt of its key.
    """

    id: str
    lane: Lane
    landed: Landed
    next_upload_after_s: int = 0
    notices: tuple[Notice, ...] = ()
    counted_stream: str | None = None


class RecordLander(Protocol):
    """Writes records so that they last; ``clients.kafka_or_spool.KafkaOrSpool`` is one."""

    def land_all(
        self, records: Sequence[ProducerRecord], *, until_s: float
    ) -> Sequence[KafkaPosition | Spooled | NotDurableError]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingest:
    """All that landing a message needs; each message comes with the flow of its stream, if any."""

    producer: RecordLander
    put_payload: Callable[[str, bytes, str], PayloadReference]  # as ``PayloadBucket.put``
    body_bytes_max: int
    health: SinkHealth = field(default_factory=SinkHealth)

    def land_all(
        self, inbound: Sequence[tuple[InboundMessage, Flow | None]], *, until_s: float
    ) -> list[Receipt | FleetlaneError]:
        """Make messages durable: in Kafka or the spool, large bodies in S3 first.

        Blocks until they are, or until ``until_s`` or a little longer, with all waits together.
        For a message that is not durable its error is returned: ``BodyTooLargeError`` where the
        body is over ``body_bytes_max``, ``PayloadUnavailableError`` where S3 did not confirm it,
        ``NotDurableError`` where neither Kafka nor the spool confirmed the record in time.
        """
        prepared = self._all_prepared(inbound)
        records = [one[1] for one in prepared if not isinstance(one, FleetlaneError)]
        places = self.producer.land_all(records, until_s=until_s) if records else ()
        self.health.saw_records(places)
        place = iter(places)
        return [
            one if isinstance(one, FleetlaneError) else _outcome(one[0], flow, next(place))
            for one, (_, flow) in zip(prepared, inbound, strict=True)
        ]

    def _prepared(self, given: InboundMessage, flow: Flow | None) -> tuple[Message, ProducerRecord]:
        """The message and its record; a large body is in S3 by then."""
        if len(given.body) > self.body_bytes_max:
            raise BodyTooLargeError(len(given.body), self.body_bytes_max)
        message = _message_of(given, flow)
        if message.body_bytes > INLINE_BYTES_MAX:
            reference = self._stored(payload_key(message.raw_id), given)
            message = replace(message, body=None, reference=reference)
        return message, raw_record(message, flow)

    def _stored(self, key: str, inbound: InboundMessage) -> PayloadReference:
        try:
            reference = self.put_payload(key, inbound.body, inbound.body_sha256.hex())
        except PayloadUnavailableError:
            self.health.saw(Sink.OBJECT_STORE, Condition.FAILING)
            raise
        self.health.saw(Sink.OBJECT_STORE, Condition.OK)
        return reference

    def _all_prepared(
        self, inbound: Sequence[tuple[InboundMessage, Flow | None]]
    ) -> list[tuple[Message, ProducerRecord] | FleetlaneError]:
        large = sum(len(one.body) > INLINE_BYTES_MAX for one, _ in inbound)
        if large <= 1:
            return [or_error(self._prepared, *one) for one in inbound]
        with ThreadPoolExecutor(large) as pool:  # so few fit into one request
            return list(pool.map(lambda one: or_error(self._prepared, *one), inbound))


def or_error[**P, T](call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | FleetlaneError:
    """What a call gives, or the error of ours that it raises: of many, none stops the others."""
    try:
        return call(*args, **kwargs)
    except FleetlaneError as problem:
        return problem


def _outcome(
    message: Message, flow: Flow | None, place: KafkaPosition | Spooled | NotDurableError
) -> Receipt | NotDurableError:
    if isinstance(place, NotDurableError):
        return place
    landed = Landed.KAFKA if message.reference is None else Landed.OBJECT
    if isinstance(place, Spooled):
        landed = Landed.SPOOL
    counted_stream = NO_FLOW_STREAM if flow is None else flow.stream
    return Receipt(
        id=message.raw_id, lane=message.lane, landed=landed, counted_stream=counted_stream
    )
