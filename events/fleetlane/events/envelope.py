"""The raw record: one device message as CloudEvents 1.0 in Kafka's binary mode."""

from dataclasses import dataclass, field
from typing import Final

from fleetlane.events.errors import FleetlaneError
from fleetlane.events.lanes import Lane
from fleetlane.events.times import rfc3339

type Header = tuple[str, bytes | None]

SOURCE_PREFIX: Final = "/devices/"
DEFAULT_CONTENT_TYPE: Final = "application/octet-stream"
REVISION_MAX: Final = 2**31 - 1


class BadEnvelopeError(FleetlaneError):
    """A raw record's headers do not make a message. Its bytes are parked as they are."""

    reason = "bad_envelope"

    def __init__(self, header: str, problem: str) -> None:
        super().__init__(header, problem)
        self.header, self.problem = header, problem

    def __str__(self) -> str:
        return f"header {self.header}: {self.problem}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PayloadReference:
    """Where a body waits that was too large for Kafka: its key in the bucket, and its digest."""

    key: str
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message of one device: ``body``, or ``reference`` to it, never both.

    ``revision`` is raised by a replay of what was parsed before: its events take the place of that
    raw id's earlier ones. ``body_bytes`` is the body's size either way. ``truncated_from_bytes``
    is its size before its flow cut it. ``via`` is the gateway that spoke for the device.
    ``other_headers`` are headers that this version does not know; they travel on unchanged, in
    order.
    """

    raw_id: str
    device_id: str
    stream: str
    arrival_millis: int
    lane: Lane
    body: bytes | None
    body_bytes: int
    reference: PayloadReference | None = None
    content_type: str = DEFAULT_CONTENT_TYPE
    attempt: int = 1
    slow_tries: int = 0
    revision: int = 0
    device_type: str | None = None
    firmware: str | None = None
    start_millis: int | None = None
    end_millis: int | None = None
    body_encoding: str | None = None
    truncated_from_bytes: int | None = None
    via: str | None = None
    other_headers: tuple[Header, ...] = field(default=())

    @property
    def source(self) -> str:
        """CloudEvents ``source``: ``/devices/<device id>``."""
        return SOURCE_PREFIX + self.device_id


def headers_of(message: Message) -> list[Header]:
    """Write a message's headers; its body, or null by reference, is the record's value."""
    reference = message.reference
    known: tuple[tuple[str, object], ...] = (
        ("ce_specversion", "1.0"),
        ("content-type", message.content_type),
        ("ce_id", message.raw_id),
        ("ce_source", message.source),
        ("ce_type", message.stream),
        ("ce_time", rfc3339(message.arrival_millis)),
        ("ce_arrivalmillis", message.arrival_millis),
        ("ce_lane", message.lane),
        ("ce_attempt", message.attempt),
        ("ce_slowtries", message.slow_tries or None),
        ("ce_revision", message.revision or None),
        ("ce_devicetype", message.device_type),
        ("ce_firmware", message.firmware),
        ("ce_startmillis", message.start_millis),
        ("ce_endmillis", message.end_millis),
        ("ce_bodyencoding", message.body_encoding),
        ("ce_bodybytes", message.body_bytes),
        ("ce_dataref", reference and reference.key),
        ("ce_datasha256", reference and reference.sha256),
        ("ce_truncatedfrom", message.truncated_from_bytes),
        ("ce_via", message.via),
    )
    written: list[Header] = [
        (name, str(value).encode()) for name, value in known if value is not None
    ]
    return written + list(message.other_headers)
