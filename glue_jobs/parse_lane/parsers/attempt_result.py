"""What came of an attempt to parse a message, and what becomes of the message for that."""

from dataclasses import dataclass
from typing import Final, Self

from fleetlane.events.errors import ParkedReason
from fleetlane.events.flows.flow import Flow
from fleetlane.events.lanes import SLOW_TRIES_MAX, Lane
from fleetlane.events.metadata import Deferral, Outcome
from fleetlane.parsers.sandbox.results import Attempt, Verdict
from glue_jobs.parse_lane.parsers.choices import Choice, ChosenParser, NoParser

MAY_PASS_NEXT_TIME: Final = frozenset(
    {ParkedReason.TIMEOUT, ParkedReason.PARSER_FAILED, ParkedReason.MEMORY, ParkedReason.CRASHED}
)
"""Failures that another attempt may not have. The same bytes fail again for any other reason."""

_DEFERRALS: Final = {
    Verdict.NOT_TRIED: Deferral.TIME_BUDGET_USED_UP,
    Verdict.CUT_SHORT: Deferral.TIME_BUDGET_USED_UP,
    Verdict.CHILDREN_USED_UP: Deferral.CHILDREN_USED_UP,
    Verdict.TOO_LARGE_FOR_LANE: Deferral.TOO_LARGE_FOR_LANE,
    Verdict.SHARE_USED_UP: Deferral.SHARE_USED_UP,
}
_NONE: Final = Attempt(Verdict.OK)


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptResult:
    """What came of an attempt, with what was chosen for the message; nothing looks that up again.

    Without a ``choice`` the record is no message at all.

    With ``deferral`` the attempt was deferred: nothing is held against the message. Its payload
    could not be fetched, or not be copied to where nothing expires; its flow is not known, and may
    be newer than those that are; or its flow or parser takes more than its share. In the slow lane
    that does not count as a try.
    """

    choice: Choice | None = None
    reason: ParkedReason | None = None
    detail: str = ""
    deferral: Deferral | None = None
    attempt: Attempt = _NONE
    body_bytes: int = 0

    @classmethod
    def by_parser(cls, attempt: Attempt, *, chosen: ChosenParser, body_bytes: int) -> Self:
        return cls(
            choice=chosen,
            reason=attempt.verdict.reason,
            detail=attempt.detail,
            deferral=_DEFERRALS.get(attempt.verdict),
            attempt=attempt,
            body_bytes=body_bytes,
        )

    @classmethod
    def without_parser(cls, problem: NoParser) -> Self:
        if problem.reason is None:
            return cls(choice=problem, deferral=problem.deferral)
        return cls(choice=problem, reason=problem.reason, detail=problem.problem)

    @property
    def flow(self) -> Flow | None:
        """The one that the choice was made by, ``None`` where the message has none."""
        return None if self.choice is None else self.choice.flow

    @property
    def parser(self) -> str | None:
        """``name@version``, where one was chosen."""
        return self.choice.assignment.parser if isinstance(self.choice, ChosenParser) else None

    @property
    def instead_of(self) -> str | None:
        """The parser that its flow names, where that is unavailable."""
        return self.choice.instead_of if isinstance(self.choice, ChosenParser) else None

    def outcome(self, *, lane: Lane, slow_tries: int) -> Outcome:
        """What becomes of a message that was tried in ``lane``, after ``slow_tries`` before."""
        if self.deferral is not None:
            return Outcome.DIVERTED
        if self.reason in MAY_PASS_NEXT_TIME:
            was_last = lane is Lane.SLOW and slow_tries + 1 >= SLOW_TRIES_MAX
            return Outcome.PARKED if was_last else Outcome.DIVERTED
        if self.reason is not None:
            return Outcome.PARKED
        return Outcome.PARSED if self.attempt.events else Outcome.EMPTY
