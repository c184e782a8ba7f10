"""What ``fleet.parsed`` says of some messages so far."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

import msgspec

from clients.kafka.reader import Record
from fleetlane.events.folded_outcome import IS_THROUGH, counts_more
from fleetlane.events.metadata import Parsed, parsed_from


@dataclass(slots=True, kw_only=True)
class PastAttempts:
    """All attempts at one message. ``best`` is the one that counts."""

    best: Parsed
    attempt_max: int = 0
    revision_max: int = 0

    def is_through(self, revision: int) -> bool:
        """Whether the message was parsed, be it to no event, in this revision or a later one."""
        return self.best.outcome in IS_THROUGH and self.best.revision >= revision


def past_attempts(records: Iterable[Record], raw_ids: Collection[str]) -> dict[str, PastAttempts]:
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
