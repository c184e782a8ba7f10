"""Landing stored messages again: what is planned, and the one way that all of it goes."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import replace
from dataclasses import dataclass
from itertools import batched
from typing import Final, Protocol

from clients.kafka.producer import NotDurableError, RecordRefusedError
from clients.kafka.producer_record import ProducerRecord
from clients.kafka.reader import Record
from fleetlane.events.envelope import Message, PayloadReference, headers_of
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.keys import raw_key
from fleetlane.events.lanes import Lane
from fleetlane.events.parked import KafkaPosition
from fleetlane.events.topics import RawTopic
from operations.messages.parked import message_in
from operations.messages.stored_records import RecordStore, position_of, records_at

_RECORDS_AT_ONCE: Final = 20
_TRIES_MAX: Final = 10
"""Each waits for half a second at least. A first connection may take longer than a request has."""


class TooManyMessagesError(FleetlaneError):
    """More messages are meant than was allowed. Nothing was done with any."""

    reason = "too_many_messages"
    messages: int
    messages_max: int
    sentence = (
        "{messages} messages or more are meant; the limit is {messages_max}:"
        " narrow down which, or raise it by --limit"
    )


class Lands(Protocol):
    """Writes records so that they last; ``clients.kafka.producer.KafkaProducer`` is one."""

    def land_all(
        self, records: Sequence[ProducerRecord]
    ) -> Sequence[KafkaPosition | NotDurableError]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Again:
    """What changes on a message that lands again. ``reference`` is where its payload is now."""

    attempt: int
    revision: int
    reference: PayloadReference | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayPlan:
    """Which records land again, out of which topics; and the raw ids of those that do not, and why.

    ``parsed`` were parsed already. ``expired`` have lost their payload. ``no_messages`` counts
    records whose envelope cannot be read.
    """

    pattern: str
    since_ms: int | None
    again: Mapping[KafkaPosition, Again]
    parsed: tuple[str, ...] = ()
    expired: tuple[str, ...] = ()
    no_messages: int = 0


def replay(
    plan: ReplayPlan,
    store: RecordStore,
    producer: Lands,
    *,
    on_landed: Callable[[int], None] = lambda _: None,
) -> int:
    """Land what is planned in the slow lane, and return how many messages that were.

    Those are fewer than planned if records have expired meanwhile. Doing it again is safe: the ids
    of messages and events are the same. ``on_landed`` is told how many landed so far.

    Raises:
        NotDurableError: Kafka did not confirm one; those before it have landed.
    """
    if not plan.again:
        return 0
    landed, records = 0, records_at(store, plan.pattern, plan.again, since_ms=plan.since_ms)
    for some in batched(_landing(records, plan.again), _RECORDS_AT_ONCE, strict=False):
        _land(some, producer)
        landed += len(some)
        on_landed(landed)
    return landed


def _land(records: Sequence[ProducerRecord], producer: Lands) -> None:
    """Land all of them; those that Kafka did not confirm once more, for a while."""
    for tries_left in reversed(range(_TRIES_MAX)):
        unconfirmed = []
        for record, position in zip(records, producer.land_all(records), strict=True):
            if not isinstance(position, NotDurableError):
                continue
            if not tries_left or isinstance(position, RecordRefusedError):
                raise position
            unconfirmed.append(record)
        if not unconfirmed:
            return
        records = unconfirmed


def _landing(
    records: Iterable[Record], again: Mapping[KafkaPosition, Again]
) -> Iterator[ProducerRecord]:
    for record in records:
        message = message_in(record)
        if message is not None:
            yield replayed_record(message, again[position_of(record)])


def replayed_record(message: Message, again: Again) -> ProducerRecord:
    """The same message for the slow lane: another attempt, none of its tries counted."""
    changed = replace(
        message,
        attempt=again.attempt,
        slow_tries=0,
        revision=again.revision,
        reference=again.reference,
    )
    return ProducerRecord(
        topic=str(RawTopic(lane=Lane.SLOW)),
        key=raw_key(message.arrival_millis),
        value=message.body,
        headers=headers_of(changed),
    )
