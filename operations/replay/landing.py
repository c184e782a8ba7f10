"""Landing stored messages again: the plan, and how it is carried out."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import replace
from dataclasses import dataclass
from itertools import batched
from typing import Final, Protocol

from clients.kafka.producer import NotDurableError, RecordRefusedError
from clients.kafka.producer_record import ProducerRecord
from fleetlane.events import lanes
from fleetlane.events.envelope import KafkaPosition, Message, PayloadReference, headers_of
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.lanes import BulkCause, Lane, LaneFacts, lane_for
from fleetlane.events.topics import raw_key, raw_topic
from operations.fleet.wording import counted
from operations.messages.parked import message_in
from operations.messages.stores import RecordStore, records_at

REPLAYED_MAX: Final = 10_000
_RECORDS_AT_ONCE: Final = 20
_TRIES_MAX: Final = 10
"""Each waits for half a second at least. A first connection may take longer than a request has."""
_SHOWN_MAX: Final = 20


class TooManyMessagesError(FleetlaneError):
    """More messages match than is allowed. Nothing was done with any."""

    messages: int
    messages_max: int
    sentence = (
        "{messages} messages or more match; the limit is {messages_max}:"
        " narrow the selection, or raise --limit"
    )


class PayloadsExpiredError(FleetlaneError):
    """Messages were left out, for their large bodies are gone, or not what they were."""

    raw_ids: tuple[str, ...]

    def __str__(self) -> str:
        more = len(self.raw_ids) - _SHOWN_MAX
        others = f" and {more} more" if more > 0 else ""
        shown = ", ".join(self.raw_ids[:_SHOWN_MAX])
        return f"left out, as the payload has expired or was altered: {shown}{others}"


class DurableProducer(Protocol):
    """Writes records durably; ``clients.kafka.producer.KafkaProducer`` is one."""

    def land_all(
        self, records: Sequence[ProducerRecord]
    ) -> Sequence[KafkaPosition | NotDurableError]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class NextAttempt:
    """What changes on a message that lands again. ``reference`` is where its payload is now."""

    attempt: int
    revision: int
    reference: PayloadReference | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayPlan:
    """Which records land again, from which topics; and the raw ids of those that do not, and why.

    ``parsed`` were parsed already. The payload of ``expired`` is gone. ``unreadable`` counts
    records whose envelope cannot be read. What begins like one of ``unknown`` was not found.
    """

    pattern: str
    since_ms: int | None
    attempts: Mapping[KafkaPosition, NextAttempt]
    parsed: tuple[str, ...] = ()
    expired: tuple[str, ...] = ()
    unreadable: int = 0
    unknown: tuple[str, ...] = ()


def result_lines(plan: ReplayPlan, landed: int | None) -> list[str]:
    """What came of it, for people; of one that is not carried out, ``landed`` is ``None``."""
    count, batch_max = len(plan.attempts), lanes.BULK_MESSAGES_PER_BATCH_MAX[BulkCause.REPLAYED]
    shown, done = (count, "would be replayed") if landed is None else (landed, "replayed")
    lines = [f"{counted(shown, 'message')} {done}"]
    if count:
        revisions = sorted({one.revision for one in plan.attempts.values()})
        lines[0] += f", revision {', '.join(map(str, revisions))}"
        wait_s = -(-count // batch_max) * lanes.LANE_LIMITS[Lane.BULK].trigger_ms / 1000
        lines.append(f"estimated time: {wait_s:g} s or more")
    if plan.parsed:
        again = "parked replay --again includes them"
        lines.append(f"{len(plan.parsed)} left out, parsed since; {again}")
    if plan.unreadable:
        lines.append(f"{plan.unreadable} left out: their envelopes cannot be read")
    return lines


def progress(plan: ReplayPlan, landed: int) -> str:
    return (
        f"{landed:,} of {counted(len(plan.attempts), 'message')} replayed; doing it again is safe"
    )


def with_payloads(
    chosen: Iterable[tuple[str, KafkaPosition, NextAttempt]],
    located: Callable[[PayloadReference], PayloadReference | None],
) -> tuple[dict[KafkaPosition, NextAttempt], tuple[str, ...]]:
    """Locate the payload of each chosen message; and the raw ids of those whose payload is gone."""
    attempts, expired = dict[KafkaPosition, NextAttempt](), list[str]()
    for raw_id, position, planned in chosen:
        reference = planned.reference and located(planned.reference)
        if planned.reference is not None and reference is None:
            expired.append(raw_id)
        else:
            attempts[position] = replace(planned, reference=reference)
    return attempts, tuple(expired)


def replay(
    plan: ReplayPlan,
    store: RecordStore,
    producer: DurableProducer,
    *,
    on_landed: Callable[[int], None] = lambda _: None,
) -> int:
    """Land the planned messages in the bulk lane, and return how many they were.

    They are fewer than planned if records have expired meanwhile. Doing it again is safe: the ids
    of messages and events are the same. ``on_landed`` is called with how many landed so far: those
    have where ``NotDurableError`` is raised.
    """
    stored = records_at(store, plan.pattern, plan.attempts, since_ms=plan.since_ms)
    records = (
        replayed_record(message, plan.attempts[record.position])
        for record in stored
        if (message := message_in(record)) is not None
    )
    landed = 0
    for some in batched(records, _RECORDS_AT_ONCE, strict=False):
        _land(some, producer)
        landed += len(some)
        on_landed(landed)
    return landed


def _land(records: Sequence[ProducerRecord], producer: DurableProducer) -> None:
    """Land all of them; those that Kafka did not confirm are sent again, up to ``_TRIES_MAX``."""
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


def replayed_record(message: Message, planned: NextAttempt) -> ProducerRecord:
    """The same message for the bulk lane: another attempt, with its count of slow tries reset.

    One whose flow declares the slow lane landed there, and goes there again.
    """
    declared = Lane.SLOW if message.lane is Lane.SLOW else Lane.STANDARD
    lane = lane_for(LaneFacts(declared=declared, is_replayed=True))
    cause = BulkCause.REPLAYED
    changed = replace(
        message,
        lane=lane,
        bulk_cause=cause,
        attempt=planned.attempt,
        slow_tries=0,
        revision=planned.revision,
        reference=planned.reference,
    )
    return ProducerRecord(
        topic=raw_topic(lane, stream=message.stream, cause=cause if lane is Lane.BULK else None),
        key=raw_key(message.arrival_millis),
        value=message.body,
        headers=headers_of(changed),
    )
