"""Raw and parked records: a device message as CloudEvents 1.0 in Kafka's binary mode."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import msgspec

from fleetlane.events import headers as ce
from fleetlane.events.errors import FleetlaneError, ParkedReason
from fleetlane.events.lanes import BulkCause, Lane
from fleetlane.events.times import rfc3339

type Header = tuple[str, bytes | None]

SOURCE_PREFIX: Final = "/devices/"
DEFAULT_CONTENT_TYPE: Final = "application/octet-stream"
REVISION_MAX: Final = 2**31 - 1


class BadEnvelopeError(FleetlaneError):
    """A raw record's headers do not make a message. Its bytes are parked as they are."""

    header: str
    problem: str
    sentence = "header {header}: {problem}"


class PayloadReference(msgspec.Struct, frozen=True, kw_only=True):
    """Where a body waits that was too large for Kafka: its key in the bucket, and its digest."""

    key: str
    sha256: str


class Declared(msgspec.Struct, frozen=True, kw_only=True):
    """What a device declares of a message; what it does not is ``None``."""

    content_type: str = DEFAULT_CONTENT_TYPE
    firmware: str | None = None
    start_millis: int | None = None
    end_millis: int | None = None
    body_encoding: str | None = None


class Sent(Declared, frozen=True, kw_only=True):
    """What is known of a message before it has landed. ``via`` is the gateway that brought it.

    ``attributes`` are those of its device in the registry, as ``attributes_text`` writes them.
    """

    device_id: str
    device_type: str
    attributes: str | None = None
    is_quarantined: bool
    stream: str
    via: str | None = None


class Message(Declared, frozen=True, kw_only=True):
    """One message of one device: ``body``, or ``reference`` to it, never both.

    ``revision`` is raised by a replay of what was parsed before: its events take the place of that
    raw id's earlier ones. ``bulk_cause`` is why it is, or was, in the bulk lane. ``body_bytes`` is
    the body's size either way; ``truncated_from_bytes`` that before its flow cut it. ``via`` is the
    gateway that spoke for the device. ``other_headers`` are headers that this version does not
    know; they travel on unchanged, in order.
    """

    raw_id: str
    device_id: str
    stream: str
    arrival_millis: int
    lane: Lane
    bulk_cause: BulkCause | None = None
    body: bytes | None
    body_bytes: int
    reference: PayloadReference | None = None
    attempt: int = 1
    slow_tries: int = 0
    revision: int = 0
    device_type: str | None = None
    attributes: str | None = None
    truncated_from_bytes: int | None = None
    via: str | None = None
    other_headers: tuple[Header, ...] = ()


def headers_of(message: Message) -> list[Header]:
    """Write a message's headers; its body, or null by reference, is the record's value."""
    reference = message.reference
    optional = (
        (ce.BULK_CAUSE, message.bulk_cause),
        (ce.SLOW_TRIES, message.slow_tries or None),
        (ce.REVISION, message.revision or None),
        (ce.DEVICE_TYPE, message.device_type),
        (ce.FIRMWARE, message.firmware),
        (ce.ATTRIBUTES, message.attributes),
        (ce.START_MILLIS, message.start_millis),
        (ce.END_MILLIS, message.end_millis),
        (ce.BODY_ENCODING, message.body_encoding),
        (ce.BODY_BYTES, message.body_bytes),
        (ce.DATA_REF, None if reference is None else reference.key),
        (ce.DATA_SHA256, None if reference is None else reference.sha256),
        (ce.TRUNCATED_FROM, message.truncated_from_bytes),
        (ce.VIA, message.via),
    )
    return [
        (ce.SPECVERSION, b"1.0"),
        (ce.CONTENT_TYPE, message.content_type.encode()),
        (ce.ID, message.raw_id.encode()),
        (ce.SOURCE, f"{SOURCE_PREFIX}{message.device_id}".encode()),
        (ce.TYPE, message.stream.encode()),
        (ce.TIME, rfc3339(message.arrival_millis).encode()),
        (ce.ARRIVAL_MILLIS, b"%d" % message.arrival_millis),
        (ce.LANE, message.lane.encode()),
        (ce.ATTEMPT, b"%d" % message.attempt),
        *[(name, str(value).encode()) for name, value in optional if value is not None],
        *message.other_headers,
    ]


DETAIL_BYTES_MAX: Final = 1024


class KafkaPosition(msgspec.Struct, frozen=True, kw_only=True):
    """A record's position in Kafka."""

    topic: str
    partition: int
    offset: int

    def __str__(self) -> str:
        return f"{self.topic}/{self.partition}/{self.offset}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A record in Kafka. ``timestamp_ms`` is when it was written."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...]

    @property
    def position(self) -> KafkaPosition:
        return KafkaPosition(topic=self.topic, partition=self.partition, offset=self.offset)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parking:
    """Why a message is parked, where it was, which parser refused it, and when.

    ``parser`` is ``name@version``, or ``None`` where no parser was chosen.
    """

    reason: ParkedReason
    detail: str
    position: KafkaPosition
    parser: str | None
    parked_millis: int


def parked_headers(headers: Iterable[Header], parking: Parking) -> list[Header]:
    """Add to a raw record's headers why it is parked. Those of an earlier parking are replaced."""
    added: list[Header] = [
        (ce.PARKED_REASON, parking.reason.encode()),
        (ce.PARKED_DETAIL, cut_to_bytes(parking.detail, DETAIL_BYTES_MAX)),
        (ce.PARKED_FROM, str(parking.position).encode()),
        (ce.PARKED_AT, rfc3339(parking.parked_millis).encode()),
    ]
    if parking.parser is not None:
        added.append((ce.PARKED_PARSER, parking.parser.encode()))
    return raw_headers(headers) + added


def raw_headers(headers: Iterable[Header]) -> list[Header]:
    """Remove what parking added."""
    return [header for header in headers if not header[0].startswith(ce.PARKED_PREFIX)]


def cut_to_bytes(text: str, bytes_max: int) -> bytes:
    """UTF-8 of ``text``, cut to at most ``bytes_max`` bytes at a character's end."""
    return text.encode(errors="replace")[:bytes_max].decode(errors="ignore").encode()
