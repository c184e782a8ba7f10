"""The outcomes of messages in the sandbox; of a run in columns, so that none needs an object."""

from array import array
from collections.abc import Collection, Iterator, Sequence
from enum import IntEnum
from typing import Final, Literal, NamedTuple

from fleetlane.events.errors import FleetlaneError, ParkedReason
from fleetlane.parsers.sandbox.canonical_records import CanonicalRecords

DETAIL_CHARS_MAX: Final = 1024


class Verdict(IntEnum):
    """The outcome of one message, as a number that crosses between processes.

    Five say nothing against it. ``NOT_TRIED``: its flow has used up its time budget,
    or its owner that for loading parsers.
    ``CUT_SHORT``: likewise, and it took longer than what is usual for the flow.
    ``CHILDREN_USED_UP``: its parser is over its respawn rate limit. ``TOO_LARGE_FOR_LANE``: its
    body or events grow to more than its lane allows. ``SHARE_USED_UP``: than its flow has left.
    """

    OK = 0
    MALFORMED = 1
    PARSER_FAILED = 2
    TIMEOUT = 3
    MEMORY = 4
    CRASHED = 5
    TOO_MANY_EVENTS = 6
    EVENT_TOO_LARGE = 7
    TOO_LARGE = 8
    NOT_TRIED = 9
    CHILDREN_USED_UP = 10
    CUT_SHORT = 11
    TOO_LARGE_FOR_LANE = 12
    SHARE_USED_UP = 13

    @property
    def reason(self) -> ParkedReason | None:
        """The reason of the same name; those that say nothing against a message have none."""
        name = self.name.lower()
        return ParkedReason(name) if name in ParkedReason else None


class Attempt(NamedTuple):
    """What came of one attempt at a message. Only ``OK`` has events.

    ``first_event_ms`` and ``last_event_ms`` span the events whose time is plausible.
    ``inflated_bytes`` is the size of a body that was inflated, ``output_bytes`` that of its
    canonical records, which whoever has these knows.
    """

    verdict: Verdict
    detail: str = ""
    events: int = 0
    parse_us: int = 0
    first_event_ms: int | None = None
    last_event_ms: int | None = None
    inflated_bytes: int = 0
    output_bytes: int = 0


class OverLimitError(FleetlaneError):
    """A message's events are too many or too large."""

    verdict: Verdict
    detail: str
    sentence = "{detail}"


class InvalidReplyError(FleetlaneError):
    """What came from a child is nothing that our code in it would send: its parser meddled."""

    reason = "forged_reply"
    problem: str
    sentence = "the parser's process sent {problem}"


NO_TIME: Final = -(1 << 62)
NO_SPAN_MS: Final = (NO_TIME, NO_TIME)
PARSE_US_MAX: Final = (1 << 32) - 1
NOTE_CODES: Final[tuple[Literal["B", "I", "q"], ...]] = ("B", "I", "I", "q", "q")
"""What a message takes in each column of ``Notes``, as ``array`` and ``struct`` call it."""

_OK: Final = bytes([Verdict.OK])


class Notes(NamedTuple):
    """``verdicts`` has one byte a message; ``events`` and ``parse_us`` 32 bits, without a sign.

    The times of its first and last event have 64 bits, or are ``NO_TIME``.
    """

    verdicts: memoryview
    events: memoryview
    parse_us: memoryview
    first_event_ms: memoryview
    last_event_ms: memoryview

    def failures(self) -> Sequence[int]:
        """The places of those that are not ``OK``."""
        if not self.verdicts.tobytes().strip(_OK):
            return ()
        return [place for place, verdict in enumerate(self.verdicts) if verdict]


def notes_of(rows: list[int]) -> Notes:
    """Turn notes, taken as five numbers a message in the order of ``Notes``, into columns."""
    columns = (array(code, rows[place::5]) for place, code in enumerate(NOTE_CODES))
    return Notes._make(memoryview(column) for column in columns)


class Part(NamedTuple):
    """What is known of messages that were parsed one after another; ``details`` of failures.

    ``charged_us`` and ``charged_bytes`` are what they used of their flow's budgets; ``inflated``
    has the sizes of bodies that were inflated. ``is_out_of_memory`` means that the last one was.
    """

    notes: Notes
    details: dict[int, str]
    inflated: dict[int, int]
    charged_us: int = 0
    charged_bytes: int = 0
    is_out_of_memory: bool = False

    @property
    def messages(self) -> int:
        return len(self.notes.verdicts)

    def attempt(self, place: int) -> Attempt:
        """What came of one message, by its place in this part."""
        verdict, events, parse_us, first_ms, last_ms = (column[place] for column in self.notes)
        return Attempt(
            Verdict(verdict),
            self.details.get(place, "") if verdict else "",
            events,
            parse_us,
            None if first_ms == NO_TIME else first_ms,
            None if last_ms == NO_TIME else last_ms,
            self.inflated.get(place, 0),
        )

    def failed(self) -> dict[int, Attempt]:
        """The attempts that were not ``OK``, by place."""
        return {place: self.attempt(place) for place in self.notes.failures()}


class NotedAttempts:
    """Attempts as a child noted them; objects are made only of those that are asked for.

    ``notes`` are of each message from place ``first`` of the run on; those in ``without`` (places
    in the part) have no result yet, and not among the attempts.
    """

    def __init__(self, part: Part, *, first: int, without: Collection[int] = ()) -> None:
        self.first, self.notes = first, part.notes
        self._part, self._without = part, without

    def failed(self) -> list[tuple[int, Attempt]]:
        return [
            (self.first + place, attempt)
            for place, attempt in self._part.failed().items()
            if place not in self._without
        ]

    def __len__(self) -> int:
        return self._part.messages - len(self._without)

    def __iter__(self) -> Iterator[tuple[int, Attempt]]:
        for place in range(self._part.messages):
            if place not in self._without:
                yield self.first + place, self._part.attempt(place)


class Result(NamedTuple):
    """Attempts at some messages of a run, by their places in it, and all their records.

    Over a run every message is in exactly one result.
    """

    attempts: list[tuple[int, Attempt]] | NotedAttempts
    records: CanonicalRecords
