"""What Kafka holds of one id: the bodies that landed, attempts at each, and what came of them."""

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import NamedTuple

from fleetlane.events.metadata import Outcome, Parsed, counts_more
from operations.messages.parked import ParkedMessage


class EventKey(NamedTuple):
    """What makes two canonical records the same event."""

    stream: str
    event_id: str
    revision: int


type RawPlace = tuple[str, int, int]
"""Topic, partition and offset of a raw record."""


@dataclass(slots=True, kw_only=True)
class MessageEvidence:
    """All that Kafka holds of one raw id, of which several bodies may have landed by mistake.

    A digest is SHA-256 in hex; ``None`` is that of a body that ingest truncated. ``event_ids`` are
    by revision: each replaces those below it.
    """

    landings: Counter[str | None] = field(default_factory=Counter)
    """How often each body landed, by its digest."""

    digests: dict[RawPlace, str | None] = field(default_factory=dict)
    """Which bytes a raw record has, a diverted or replayed one too."""

    attempts: dict[RawPlace, Parsed] = field(default_factory=dict)
    """The best attempt of each raw record."""

    is_received: bool = False
    event_ids: defaultdict[int, set[str]] = field(default_factory=lambda: defaultdict(set))
    parked: dict[str, ParkedMessage] = field(default_factory=dict)
    not_unique: set[EventKey] = field(default_factory=set)
    """Events that should be in ``unique.<stream>`` too, and are not yet."""

    def attempt_of(self, sha256: str | None) -> Parsed | None:
        """The best attempt to parse a body; without a digest, that of any.

        An attempt whose raw record is gone counts for the only body that is known of its id.
        """
        is_alone = len(self.landings.keys() | set(self.digests.values()) | {sha256}) <= 1
        wanted = {sha256, None}
        best = None
        for place, attempt in self.attempts.items():
            is_its = self.digests[place] in wanted if place in self.digests else is_alone
            if (sha256 is None or is_its) and counts_more(attempt, best):
                best = attempt
        return best

    def events_given(self, attempt: Parsed) -> int:
        """How many events there must be of an attempt's revision.

        Of bodies that share the id the events of all count: some with equal ids are lost.
        """
        best = [self.attempt_of(digest) for digest in set(self.digests.values())] or [attempt]
        return sum(
            one.events
            for one in best
            if one and one.outcome is Outcome.PARSED and one.revision == attempt.revision
        )

    def events_there(self, attempt: Parsed) -> int:
        return len(self.event_ids.get(attempt.revision, ()))
