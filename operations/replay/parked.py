"""Which parked messages land again: those that are wanted, and that nothing has parsed since."""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Final

import msgspec

from clients.kafka.reader import Record
from fleetlane.events.envelope import PayloadReference
from fleetlane.events.folded_outcome import IS_THROUGH, counts_more
from fleetlane.events.metadata import Parsed, parsed_from
from fleetlane.events.parked import KafkaPosition
from fleetlane.events.times import HOUR_MS
from fleetlane.events.topics import FLEET_PARSED, PARKED
from operations.messages.parked import ParkedFilter, ParkedMessage, newest_parked
from operations.messages.stored_payloads import StoredPayloads
from operations.messages.stored_records import RecordStore
from operations.replay.landing import Again, ReplayPlan, TooManyMessagesError

PARKING_MS_MAX: Final = HOUR_MS
"""So long before a record was written its message may have been parked: a batch is one write."""


@dataclass(slots=True, kw_only=True)
class PastAttempts:
    """All attempts at one message. ``best`` is the one that counts."""

    best: Parsed
    attempt_max: int = 0
    revision_max: int = 0

    def is_through(self, revision: int) -> bool:
        """Whether the message was parsed, be it to no event, in this revision or a later one."""
        return self.best.outcome in IS_THROUGH and self.best.revision >= revision


def parked_plan(
    store: RecordStore,
    payloads: StoredPayloads,
    wanted: ParkedFilter,
    *,
    includes_parsed: bool,
    messages_max: int,
) -> ReplayPlan:
    """Look what is parked and what became of it. Nothing is written.

    A message that was parsed since is left out; with ``includes_parsed`` it gets the next
    revision, so that what its parser gives now takes the place of what it gave.

    Raises:
        TooManyMessagesError: More than ``messages_max`` would land again.
        KafkaUnreadableError, PayloadUnavailableError: Kafka or S3 does not answer.
    """
    since_ms = read_since(wanted.since_ms)
    found = newest_parked(store.matching(PARKED, since_ms=since_ms), wanted)
    messages = [one for one in found if one.is_message]
    past = _past_of(store, messages)
    parsed = [one.identity for one in messages if _is_through(one, past.get(one.identity))]
    left_out = frozenset(() if includes_parsed else parsed)
    chosen = [one for one in messages if one.identity not in left_out]
    if len(chosen) > messages_max:
        raise TooManyMessagesError(len(chosen), messages_max)
    again, expired = dict[KafkaPosition, Again](), list[str]()
    for one in chosen:
        reference = one.reference and payloads.located(one.reference)
        if one.reference is not None and reference is None:
            expired.append(one.identity)
        else:
            again[one.position] = _again(one, past.get(one.identity), reference)
    return ReplayPlan(
        pattern=PARKED,
        since_ms=since_ms,
        again=again,
        parsed=tuple(one for one in parsed if one in left_out),
        expired=tuple(expired),
        no_messages=len(found) - len(messages),
    )


def read_since(parked_since_ms: int | None) -> int | None:
    """From when on ``parked`` is to be read, to find what was parked since then."""
    return None if parked_since_ms is None else max(0, parked_since_ms - PARKING_MS_MAX)


def _past_of(store: RecordStore, messages: list[ParkedMessage]) -> dict[str, PastAttempts]:
    if not messages:
        return {}
    since_ms = read_since(min(one.parked_ms for one in messages))
    records = store.matching(re.escape(FLEET_PARSED), since_ms=since_ms)
    return _past_attempts(records, {one.identity for one in messages})


def _past_attempts(records: Iterable[Record], raw_ids: Collection[str]) -> dict[str, PastAttempts]:
    """Fold records of ``fleet.parsed``; a message without any is not in the result."""
    found: dict[str, PastAttempts] = {}
    for record in records:
        try:
            parsed = parsed_from(record.value or b"")
        except msgspec.DecodeError:
            continue  # not ours to judge: the ledger finds it
        if parsed.id in raw_ids:
            past = found.setdefault(parsed.id, PastAttempts(best=parsed))
            past.attempt_max = max(past.attempt_max, parsed.attempt)
            past.revision_max = max(past.revision_max, parsed.revision)
            if counts_more(parsed, past.best):
                past.best = parsed
    return found


def _is_through(parked: ParkedMessage, past: PastAttempts | None) -> bool:
    return past is not None and past.is_through(parked.revision)


def _again(
    parked: ParkedMessage, past: PastAttempts | None, reference: PayloadReference | None
) -> Again:
    attempt, revision = parked.attempt, parked.revision
    if past is not None:
        attempt, revision = max(attempt, past.attempt_max), max(revision, past.revision_max)
        revision += past.is_through(parked.revision)
    return Again(attempt=attempt + 1, revision=revision, reference=reference)
