"""A message to try: bytes as they are, or a raw or parked record that was exported."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from fleetlane.events.envelope import Header, Message
from fleetlane.events.envelope_reading import message_from
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.lanes import PAYLOAD_BYTES_MAX
from fleetlane.events.parked import raw_headers
from fleetlane.parsers.body_encoding import decoded_body
from fleetlane.parsers.testkit.trials import Trial


class BodyElsewhereError(FleetlaneError):
    """A record's body is in the bucket, where this does not look."""

    reason = "body_elsewhere"
    raw_id: str
    key: str
    sentence = "message {raw_id} has its body in the bucket, as {key}: fetch that file"


class Recorded(Protocol):
    """A record, from Kafka or exported."""

    @property
    def headers(self) -> Sequence[Header]: ...
    @property
    def value(self) -> bytes | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedMessage:
    """A message of a record: its trial, and what its flow chooses a parser by."""

    trial: Trial
    stream: str
    device_type: str | None
    firmware: str | None


def recorded_message(record: Recorded) -> RecordedMessage:
    """Read a record, and inflate its body as the platform does.

    Raises:
        BadEnvelopeError: Its headers are no message's.
        BodyElsewhereError: Its body is by reference.
        FleetlaneError: The body cannot be inflated.
    """
    message = message_from(raw_headers(record.headers), record.value)
    return RecordedMessage(
        trial=Trial(
            body=_body(message),
            device_id=message.device_id,
            arrival_millis=message.arrival_millis,
        ),
        stream=message.stream,
        device_type=message.device_type,
        firmware=message.firmware,
    )


def _body(message: Message) -> bytes:
    if message.reference is not None:
        raise BodyElsewhereError(message.raw_id, message.reference.key)
    return decoded_body(message.body or b"", message.body_encoding, bytes_max=PAYLOAD_BYTES_MAX)
