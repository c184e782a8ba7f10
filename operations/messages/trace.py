"""One message's full history in the topics: landings, attempts, events, and parked copies."""

import re
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

import msgspec

from fleetlane.events import headers as ce
from fleetlane.events.canonical import CanonicalEvent, canonical_event_from
from fleetlane.events.envelope import Message, Record
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.lanes import Lane
from fleetlane.events.metadata import Outcome, Parsed, Received, parsed_from, received_from, weight
from fleetlane.events.names import CANDIDATES_MAX, AmbiguousIdError, is_raw_id
from fleetlane.events.topic_patterns import canonical_pattern, raw_pattern
from fleetlane.events.topics import FLEET_PARSED, FLEET_RECEIVED, PARKED
from operations.messages.parked import ParkedMessage, message_in, parked_message
from operations.messages.stores import RecordSource, RecordStore

_BUT_EVENTS: Final = "|".join(
    (raw_pattern(*Lane), *map(re.escape, (FLEET_RECEIVED, FLEET_PARSED, PARKED)))
)
_POLL_INTERVAL_S: Final = 0.2
TRACED_TOPICS: Final = f"{_BUT_EVENTS}|{canonical_pattern()}"


class NoTraceError(FleetlaneError):
    """No record that was read belongs to this message or event."""

    wanted_id: str
    sentence = (
        "no message or event {wanted_id!r} is in the topics that were read: its"
        " records may have expired, or be older than --since"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageTrace:
    """What was found of one message; each list by time. ``best`` is the attempt that counts.

    Of ``landings``, from the second attempt on one is a diversion or a replay.
    """

    raw_id: str
    landings: list[tuple[Record, Message]] = field(default_factory=list)
    received: list[Received] = field(default_factory=list)
    attempts: list[Parsed] = field(default_factory=list)
    parked: list[tuple[ParkedMessage, Message]] = field(default_factory=list)
    events: list[tuple[Record, CanonicalEvent]] = field(default_factory=list)

    @property
    def best(self) -> Parsed | None:
        return max(self.attempts, key=weight, default=None)

    @property
    def outcome(self) -> str:
        return "none yet" if self.best is None else str(self.best.outcome)

    def steps(self) -> Sequence[tuple[int, str]]:
        """When, in epoch milliseconds, and what happened, in words; in order.

        The API's clock, Kafka's and the job's: no difference between them is a duration.
        """
        steps = [(row.received_ms, 2, "counted in fleet.received") for row in self.received]
        if self.message is not None:
            steps.append((self.message.arrival_millis, 0, "accepted by the API"))
        for record, message in self.landings:
            how = "landed in" if message.attempt == 1 else "lands again in"
            text = f"{how} {record.position}{_numbers(message)}"
            steps.append((record.timestamp_ms, 1, text))
        steps += ((attempt.parsed_ms, 3, _attempt_text(attempt)) for attempt in self.attempts)
        for parked, _ in self.parked:
            text = f"parked in {parked.position}: {parked.reason}: {parked.detail}"
            steps.append((parked.parked_ms, 4, text))
        written = {(at.topic, event.revision): at.timestamp_ms for at, event in self.events}
        for (topic, revision), at_ms in written.items():
            numbers = f", revision {revision}" if revision else ""
            steps.append((at_ms, 5, f"events in {topic}{numbers}"))
        return [(at_ms, text) for at_ms, _, text in sorted(steps)]

    @property
    def message(self) -> Message | None:
        """The message as it landed, or as it is parked; ``None`` if both have expired."""
        return next((message for _, message in (*self.landings, *self.parked)), None)

    @property
    def has_ended(self) -> bool:
        """Whether it has an outcome, and what belongs to that is found as well."""
        best = self.best
        if best is None or best.outcome is Outcome.DIVERTED:
            return False
        return bool(self.parked) if best.outcome is Outcome.PARKED else self._has_events_of(best)

    @property
    def has_all_events(self) -> bool:
        """Whether something became of it, and all events that attempts gave are found."""
        return bool(self.attempts) and all(map(self._has_events_of, self.attempts))

    def _has_events_of(self, attempt: Parsed) -> bool:
        of_attempt = (event.revision == attempt.revision for _, event in self.events)
        return sum(of_attempt) >= attempt.events

    @property
    def streams(self) -> set[str]:
        """The streams it was sent to: one, unless its id was seen twice."""
        named = {one.stream for one in self.received} | {one.stream for one in self.attempts}
        return named if self.message is None else named | {self.message.stream}


def _attempt_text(attempt: Parsed) -> str:
    why = attempt.reason or attempt.put_off
    parser = f" by {attempt.parser}" if attempt.parser else ""
    instead = f" instead of {attempt.instead_of}" if attempt.instead_of else ""
    came = f", events: {attempt.events}" if attempt.events else ""
    return (
        f"{attempt.outcome}{f' ({why})' if why else ''}{parser}{instead} in the {attempt.lane} lane"
        f"{_numbers(attempt)}{came}, {attempt.parse_us} µs"
    )


def _numbers(one: Message | Parsed) -> str:
    return f", attempt {one.attempt}" + (f", revision {one.revision}" if one.revision else "")


def message_trace(store: RecordStore, wanted_id: str, *, since_ms: int | None) -> MessageTrace:
    """Look for a raw id, the id of a canonical event, or the beginning of either.

    Events lie in the canonical topic of their message's stream; those of other streams, which may
    hold far more, are read only where events are missing: a flow may redirect some.

    Raises:
        AmbiguousIdError: Several messages have ids that begin so.
        NoTraceError: Nothing of it was found.
        KafkaUnreadableError: Kafka does not answer.
    """
    raw_id = wanted_id if is_raw_id(wanted_id) else _raw_id_of(store, wanted_id, since_ms)
    trace = MessageTrace(raw_id=raw_id)
    _take_all(store.matching(_BUT_EVENTS, since_ms=since_ms), trace)
    own = "|".join(map(canonical_pattern, sorted(trace.streams)))
    if own:
        _take_all(store.matching(own, since_ms=since_ms), trace)
    if not trace.has_all_events:
        others = f"(?!(?:{own})$){canonical_pattern()}"
        _take_all(store.matching(others, since_ms=since_ms), trace)
    if trace == MessageTrace(raw_id=raw_id):
        raise NoTraceError(wanted_id)
    return trace


def awaited_trace(reader: RecordSource, raw_id: str, *, wait_s: float) -> MessageTrace:
    """Read ``TRACED_TOPICS`` until a message has ended, with all its events; ``wait_s`` at most.

    Raises ``KafkaUnreadableError``.
    """
    trace, until_s = MessageTrace(raw_id=raw_id), time.monotonic() + wait_s
    while True:
        records = reader.read_available()
        _take_all(records, trace)
        if trace.has_ended or time.monotonic() >= until_s:
            return trace
        if not records:
            time.sleep(_POLL_INTERVAL_S)


def _take_all(records: Iterable[Record], trace: MessageTrace) -> None:
    for record in records:
        with suppress(msgspec.DecodeError):  # the id occurs in a record that is not ours
            _take(record, trace)
    trace.landings.sort(key=lambda one: (one[0].timestamp_ms, one[1].attempt))
    trace.attempts.sort(key=lambda one: (one.parsed_ms, one.attempt))
    trace.parked.sort(key=lambda one: one[0].parked_ms)
    trace.events.sort(key=lambda one: (one[1].revision, one[0].timestamp_ms))


def _raw_id_of(store: RecordStore, given: str, since_ms: int | None) -> str:
    """The message of an event, or whose id begins so; of an event that has expired by its id."""
    ids = set[str]()
    for record in store.matching(TRACED_TOPICS, since_ms=since_ms) if given else ():
        for one, raw_id in _ids_in(record, given.encode()):
            if one == given:
                return raw_id
            if one.startswith(given):
                ids.add(raw_id)
        if len(ids) > CANDIDATES_MAX:
            break
    if len(ids) > 1:
        raise AmbiguousIdError(given, tuple(sorted(ids)))
    raw_id = next(iter(ids), given.rpartition("-")[0])
    if not is_raw_id(raw_id):
        raise NoTraceError(given)
    return raw_id


def _ids_in(record: Record, given: bytes) -> Iterator[tuple[str, str]]:
    """Ids of a message or an event, each with its message's."""
    message = dict(record.headers).get(ce.ID)
    if message is not None:
        raw_id = message.decode(errors="replace")
        yield raw_id, raw_id
    elif record.topic.startswith("canonical.") and given in (record.value or b""):
        with suppress(msgspec.DecodeError):
            event = canonical_event_from(record.value or b"")
            yield from ((event.id, event.rawid), (event.rawid, event.rawid))


def _take(record: Record, trace: MessageTrace) -> None:
    raw_id, topic, value = trace.raw_id.encode(), record.topic, record.value or b""
    if topic == PARKED or topic.startswith("raw."):
        message = message_in(record) if (ce.ID, raw_id) in record.headers else None
        if message is not None and topic == PARKED:
            trace.parked.append((parked_message(record), message))
        elif message is not None:
            trace.landings.append((record, message))
    elif raw_id not in value:
        return
    elif topic == FLEET_RECEIVED:
        trace.received.extend(row for row in (received_from(value),) if row.id == trace.raw_id)
    elif topic == FLEET_PARSED:
        trace.attempts.extend(row for row in (parsed_from(value),) if row.id == trace.raw_id)
    else:
        event = canonical_event_from(value)
        if event.rawid == trace.raw_id:
            trace.events.append((record, event))
