"""What comes of a run, part by part."""

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple, overload

from fleetlane.parsers.sandbox.child.attempts import Part
from fleetlane.parsers.sandbox.columns import CanonicalRecords
from fleetlane.parsers.sandbox.verdicts import Attempt


class Result(NamedTuple):
    """Attempts at some messages of a run, by their places in it, and all their records.

    Over a run every message is in exactly one result.
    """

    attempts: Sequence[tuple[int, Attempt]]
    records: CanonicalRecords


class NotedAttempts(Sequence[tuple[int, Attempt]]):
    """Attempts as a child noted them; objects are made only of those that are asked for.

    ``notes`` are of each message from place ``first`` of the run on; those in ``without`` (places
    in the part) are not decided yet, and not among the attempts.
    """

    def __init__(self, part: Part, *, first: int, without: Collection[int] = ()) -> None:
        self.first, self.notes = first, part.notes
        self._part, self._without = part, without

    def failed(self) -> list[tuple[int, Attempt]]:
        """Those that were not ``OK``."""
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

    @overload
    def __getitem__(self, place: int) -> tuple[int, Attempt]: ...

    @overload
    def __getitem__(self, place: slice) -> list[tuple[int, Attempt]]: ...

    def __getitem__(self, place: int | slice) -> tuple[int, Attempt] | list[tuple[int, Attempt]]:
        return list(self)[place]


def no_records(topics: tuple[str, ...]) -> CanonicalRecords:
    none, zero = memoryview(b""), memoryview(bytes(4)).cast("i")
    return CanonicalRecords(
        topics=topics, topic_indexes=none, key_ends=zero, keys=none, value_ends=zero, values=none
    )
