"""What a ledger found wrong, by id."""

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A problem with one id; of a record without an id, its position."""

    raw_id: str
    problem: str

    def __str__(self) -> str:
        return f"{self.raw_id}: {self.problem}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """The first few problems of each kind, and two counts.

    ``unexpected`` messages are not lost, but their outcome is not what the device expected.
    ``repeats`` are records whose id was already there, which is fine. ``unreceived`` are ids that
    landed and are not in ``fleet.received``.
    """

    lost: tuple[Finding, ...] = ()
    invented: tuple[Finding, ...] = ()
    unexpected: tuple[Finding, ...] = ()
    repeats: int = 0
    unreceived: int = 0

    def lines(self) -> Iterator[str]:
        """A line for each finding that needs attention."""
        for kind in ("lost", "invented", "unexpected"):
            for finding in getattr(self, kind):
                yield f"{kind}: {finding}"
        if self.unreceived:
            yield f"unreceived: {self.unreceived} messages landed without a row in fleet.received"
