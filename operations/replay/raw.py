"""Which messages of a stream land again with the next revision: all of a range of arrival time."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from clients.kafka.reader import Record
from fleetlane.events import headers as ce
from fleetlane.events.envelope import BadEnvelopeError, Message, PayloadReference
from fleetlane.events.envelope_reading import message_from
from fleetlane.events.parked import KafkaPosition
from fleetlane.events.topics import stream_pattern
from operations.messages.stored_payloads import StoredPayloads
from operations.messages.stored_records import RecordStore, position_of
from operations.replay.landing import Again, ReplayPlan, TooManyMessagesError

CLOCKS_APART_MS_MAX: Final = 60_000
"""So much may the clocks of ingest and of Kafka differ. No record is older than its arrival."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrivalRange:
    """Messages of one stream that arrived from ``from_ms`` on and before ``to_ms``."""

    stream: str
    from_ms: int
    to_ms: int

    def takes(self, message: Message) -> bool:
        return message.stream == self.stream and self.from_ms <= message.arrival_millis < self.to_ms


@dataclass(slots=True, kw_only=True)
class _Found:
    position: KafkaPosition
    reference: PayloadReference | None
    attempt_max: int


def raw_plan(
    store: RecordStore, payloads: StoredPayloads, wanted: ArrivalRange, *, messages_max: int
) -> ReplayPlan:
    """Look what stands in the raw topics. Nothing is written.

    Each message lands once, whatever copies of it there are, and all of them with one revision:
    the one after the highest that any of them has. Topics are read to their end, for a message may
    have waited in the spool.

    Raises:
        TooManyMessagesError: More than ``messages_max`` would land again.
        KafkaUnreadableError, PayloadUnavailableError: Kafka or S3 does not answer.
    """
    pattern, since_ms = stream_pattern(wanted.stream), max(0, wanted.from_ms - CLOCKS_APART_MS_MAX)
    found, revision = _found(store.matching(pattern, since_ms=since_ms), wanted, messages_max)
    again, expired = dict[KafkaPosition, Again](), list[str]()
    for raw_id, one in found.items():
        reference = one.reference and payloads.located(one.reference)
        if one.reference is not None and reference is None:
            expired.append(raw_id)
        else:
            again[one.position] = Again(
                attempt=one.attempt_max + 1, revision=revision + 1, reference=reference
            )
    return ReplayPlan(pattern=pattern, since_ms=since_ms, again=again, expired=tuple(expired))


def _found(
    records: Iterable[Record], wanted: ArrivalRange, messages_max: int
) -> tuple[dict[str, _Found], int]:
    """The messages by raw id, and the highest revision among them."""
    found, revision, stream = dict[str, _Found](), 0, (ce.TYPE, wanted.stream.encode())
    for record in records:
        message = _message(record) if stream in record.headers else None
        if message is None or not wanted.takes(message):
            continue
        one = found.setdefault(
            message.raw_id,
            _Found(position=position_of(record), reference=message.reference, attempt_max=0),
        )
        one.attempt_max = max(one.attempt_max, message.attempt)
        revision = max(revision, message.revision)
        if len(found) > messages_max:
            raise TooManyMessagesError(len(found), messages_max)
    return found, revision


def _message(record: Record) -> Message | None:
    try:
        return message_from(record.headers, record.value)
    except BadEnvelopeError:
        return None  # parked as such, and of no stream
