"""Which messages of a stream land again with the next revision: all of one range of arrival."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from clients.kafka.reader import Record
from fleetlane.events import headers as ce
from fleetlane.events.envelope import KafkaPosition, Message, PayloadReference
from fleetlane.events.topics import stream_pattern
from operations.messages.parked import message_in
from operations.messages.stores import RecordStore, StoredPayloads
from operations.replay.landing import NextAttempt, ReplayPlan, TooManyMessagesError, with_payloads

CLOCKS_APART_MS_MAX: Final = 60_000
"""How far the clocks of ingest and Kafka may differ. No record is older than its arrival."""


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
    attempt_max: int = 0


def raw_plan(
    store: RecordStore, payloads: StoredPayloads, wanted: ArrivalRange, *, messages_max: int
) -> ReplayPlan:
    """Read what is in the raw topics. Nothing is written.

    Each message lands once, however many copies of it there are, and all with one revision: the
    one after the highest that any of them has. Topics are read to their end, for a message may
    have waited in the spool.

    Raises:
        TooManyMessagesError: More than ``messages_max`` would land again.
        KafkaUnreadableError, PayloadUnavailableError: Kafka or S3 does not answer.
    """
    pattern, since_ms = stream_pattern(wanted.stream), max(0, wanted.from_ms - CLOCKS_APART_MS_MAX)
    found, revision = _found(store.matching(pattern, since_ms=since_ms), wanted, messages_max)
    chosen = [
        (raw_id, one.position, _next(one, revision=revision + 1)) for raw_id, one in found.items()
    ]
    attempts, expired = with_payloads(chosen, payloads)
    return ReplayPlan(pattern=pattern, since_ms=since_ms, attempts=attempts, expired=expired)


def _next(found: _Found, *, revision: int) -> NextAttempt:
    return NextAttempt(attempt=found.attempt_max + 1, revision=revision, reference=found.reference)


def _found(
    records: Iterable[Record], wanted: ArrivalRange, messages_max: int
) -> tuple[dict[str, _Found], int]:
    """The messages by raw id, and the highest revision among them."""
    found, revision, stream = dict[str, _Found](), 0, (ce.TYPE, wanted.stream.encode())
    for record in records:
        message = message_in(record) if stream in record.headers else None
        if message is None or not wanted.takes(message):
            continue
        first = _Found(position=record.position, reference=message.reference)
        one = found.setdefault(message.raw_id, first)
        one.attempt_max = max(one.attempt_max, message.attempt)
        revision = max(revision, message.revision)
        if len(found) > messages_max:
            raise TooManyMessagesError(len(found), messages_max)
    return found, revision
