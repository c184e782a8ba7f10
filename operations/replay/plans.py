"""Which stored messages land again.

Of parked ones those that were not parsed since; of a stream all of one range of arrival, with the
next revision.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

import msgspec

from fleetlane.events import headers as ce
from fleetlane.events.envelope import KafkaPosition, Message, PayloadReference
from fleetlane.events.metadata import IS_THROUGH, Parsed, parsed_from, weight
from fleetlane.events.times import HOUR_MS
from fleetlane.events.topic_patterns import stream_pattern
from fleetlane.events.topics import FLEET_PARSED, PARKED
from operations.messages.parked import ParkedFilter, ParkedMessage, message_in, newest_parked
from operations.messages.stores import RecordStore, StoredPayloads
from operations.replay.landing import NextAttempt, ReplayPlan, TooManyMessagesError, with_payloads

CLOCKS_APART_MS_MAX: Final = 60_000
"""How far the clocks of ingest and Kafka may differ. No record is older than its arrival."""
PARKING_MS_MAX: Final = HOUR_MS
"""A message may have been parked this long before its record was written: a batch is one write."""


def parked_plan(
    store: RecordStore,
    payloads: StoredPayloads,
    wanted: ParkedFilter,
    *,
    includes_parsed: bool,
    messages_max: int,
) -> ReplayPlan:
    """Read what is parked, and its outcomes since. Nothing is written.

    A message that was parsed since is left out; with ``includes_parsed`` it gets the next
    revision, so that its new events replace the earlier ones.

    Raises:
        TooManyMessagesError: More than ``messages_max`` would land again.
        KafkaUnreadableError, PayloadUnavailableError: Kafka or S3 does not answer.
    """
    since_ms = read_since(wanted.since_ms)
    found = newest_parked(store.matching(PARKED, since_ms=since_ms), wanted)
    messages = [one for one in found if one.is_message]
    past = _past_attempts(store, messages)
    parsed = [one.identity for one in messages if _is_parsed(past[one.identity], one.revision)]
    left_out = frozenset(() if includes_parsed else parsed)
    chosen = [one for one in messages if one.identity not in left_out]
    if len(chosen) > messages_max:
        raise TooManyMessagesError(len(chosen), messages_max)
    again = ((one.identity, one.position, _next(one, past[one.identity])) for one in chosen)
    attempts, expired = with_payloads(again, payloads.located)
    return ReplayPlan(
        pattern=PARKED,
        since_ms=since_ms,
        attempts=attempts,
        parsed=tuple(one for one in parsed if one in left_out),
        expired=expired,
        unreadable=len(found) - len(messages),
        unknown=tuple(
            sorted(one for one in wanted.ids if not any(f.identity.startswith(one) for f in found))
        ),
    )


def read_since(parked_since_ms: int | None) -> int | None:
    """From when on ``parked`` must be read to find what was parked since then."""
    return None if parked_since_ms is None else max(0, parked_since_ms - PARKING_MS_MAX)


def _past_attempts(store: RecordStore, messages: list[ParkedMessage]) -> Mapping[str, list[Parsed]]:
    """By raw id, the attempts in ``fleet.parsed``; none of a message that has none there."""
    found = defaultdict[str, list[Parsed]](list)
    if not messages:
        return found
    raw_ids = {one.identity for one in messages}
    since_ms = read_since(min(one.parked_ms for one in messages))
    for record in store.matching(re.escape(FLEET_PARSED), since_ms=since_ms):
        with suppress(msgspec.DecodeError):  # not reported here: the ledger finds it
            parsed = parsed_from(record.value or b"")
            if parsed.id in raw_ids:
                found[parsed.id].append(parsed)
    return found


def _is_parsed(attempts: Sequence[Parsed], revision: int) -> bool:
    """Whether a message was parsed, even to no events, in this revision or a later one."""
    best = max(attempts, key=weight, default=None)
    return best is not None and best.outcome in IS_THROUGH and best.revision >= revision


def _next(parked: ParkedMessage, past: Sequence[Parsed]) -> NextAttempt:
    attempt = max([parked.attempt, *(one.attempt for one in past)])
    revision = max([parked.revision, *(one.revision for one in past)])
    revision += _is_parsed(past, parked.revision)
    return NextAttempt(attempt=attempt + 1, revision=revision, reference=parked.reference)


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrivalRange:
    """Messages of one stream that arrived from ``from_ms`` on and before ``to_ms``."""

    stream: str
    from_ms: int
    to_ms: int

    def takes(self, message: Message) -> bool:
        return message.stream == self.stream and self.from_ms <= message.arrival_millis < self.to_ms


@dataclass(slots=True, kw_only=True)
class Seen:
    """Messages that are to land again, each once: with an attempt and revision beyond all seen."""

    messages_max: int
    attempts: dict[str, int] = field(default_factory=dict)
    first: dict[str, tuple[KafkaPosition, PayloadReference | None]] = field(default_factory=dict)
    revision: int = 0

    def add(self, raw_id: str, attempt: int, revision: int) -> None:
        """Add one landing of a message; raises ``TooManyMessagesError``."""
        self.attempts[raw_id] = max(self.attempts.get(raw_id, 0), attempt)
        self.revision = max(self.revision, revision)
        if len(self.attempts) > self.messages_max:
            raise TooManyMessagesError(len(self.attempts), self.messages_max)

    def chosen(self) -> Iterator[tuple[str, KafkaPosition, NextAttempt]]:
        """Those whose ``first`` record is known, with what ``with_payloads`` needs."""
        for one, (at, reference) in self.first.items():
            attempt, revision = self.attempts[one] + 1, self.revision + 1
            yield one, at, NextAttempt(attempt=attempt, revision=revision, reference=reference)


def raw_plan(
    store: RecordStore, payloads: StoredPayloads, wanted: ArrivalRange, *, messages_max: int
) -> ReplayPlan:
    """Read what is in the raw topics. Nothing is written.

    Each message lands once, however many copies there are, and all with one revision: the one after
    the highest that any has. Topics are read to their end: a message may have been in the spool.
    """
    pattern, since_ms = stream_pattern(wanted.stream), max(0, wanted.from_ms - CLOCKS_APART_MS_MAX)
    seen, stream = Seen(messages_max=messages_max), (ce.TYPE, wanted.stream.encode())
    for record in store.matching(pattern, since_ms=since_ms):
        message = message_in(record) if stream in record.headers else None
        if message is not None and wanted.takes(message):
            seen.add(message.raw_id, message.attempt, message.revision)
            seen.first.setdefault(message.raw_id, (record.position, message.reference))
    attempts, expired = with_payloads(seen.chosen(), payloads.located)
    return ReplayPlan(pattern=pattern, since_ms=since_ms, attempts=attempts, expired=expired)
