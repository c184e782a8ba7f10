"""A reconciled ledger: nine numbers for machines, findings for people."""

from collections.abc import Iterator
from dataclasses import dataclass, field, fields

import orjson


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """Every accepted message by its final outcome. ``seconds`` is how long the run took."""

    accepted: int
    parsed: int
    empty: int
    duplicate: int
    parked: int
    lost: int
    invented: int
    unanswered: int
    seconds: float
    findings: Findings = field(default_factory=Findings)

    def __post_init__(self) -> None:
        accounted = self.parsed + self.empty + self.parked + self.duplicate + self.lost
        assert self.accepted == accounted, "every accepted message has exactly one outcome"

    @property
    def is_balanced(self) -> bool:
        """Whether nothing is lost and nothing invented."""
        return self.lost == 0 and self.invented == 0

    def line(self) -> str:
        """The ledger in one line, for the end of a run."""
        return (
            f"ledger: accepted={self.accepted} parsed={self.parsed} empty={self.empty}"
            f" duplicate={self.duplicate} parked={self.parked} unanswered={self.unanswered}"
            f" lost={self.lost} invented={self.invented}"
        )

    def to_json(self) -> bytes:
        """The nine numbers as one JSON object."""
        names = [one.name for one in fields(self) if one.name != "findings"]
        numbers = {name: getattr(self, name) for name in names}
        return orjson.dumps(numbers, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
