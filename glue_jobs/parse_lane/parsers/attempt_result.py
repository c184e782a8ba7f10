"""What came of an attempt to parse a message, and what becomes of the message for that."""

from dataclasses import dataclass
from typing import Final, Self

from fleetlane.events.errors import ParkedReason
from fleetlane.events.flows.flow import Flow
from fleetlane.events.lanes import SLOW_TRIES_MAX, Lane
from fleetlane.events.metadata import Deferral, Outcome
from fleetlane.parsers.sandbox.results import Attempt, Verdict
from glue_jobs.parse_lane.parsers.choices import ChosenParser, NoParser

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


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptResult:
    """What came of an attempt; ``parser`` is ``name@version``, where one was chosen.

    ``flow`` is the one that the parser was chosen by, ``None`` where the message has none; nothing
    looks it up again. ``instead_of`` is the parser that it names, where that is unavailable.

    With ``deferral`` the attempt was deferred: nothing is held against the message. Its payload
    could not be fetched, or not be copied to where nothing expires; its flow is not known, and may
    be newer than those that are; or its flow or parser takes more than its share. In the slow lane
    that does not count as a try.
    """

    reason: ParkedReason | None = None
    detail: str = ""
    parser: str | None = None
    instead_of: str | None = None
    body_bytes: int = 0
    events: int = 0
    parse_us: int = 0
    first_event_ms: int | None = None
    last_event_ms: int | None = None
    deferral: Deferral | None = None
    flow: Flow | None = None

    @classmethod
    def by_parser(cls, attempt: Attempt, *, chosen: ChosenParser, body_bytes: int) -> Self:
        return cls(
            reason=attempt.verdict.reason,
            detail=attempt.detail,
            parser=chosen.assignment.parser,
            flow=chosen.assignment.flow,
            instead_of=chosen.instead_of,
            body_bytes=body_bytes,
            events=attempt.events,
            parse_us=attempt.parse_us,
            first_event_ms=attempt.first_event_ms,
            last_event_ms=attempt.last_event_ms,
            deferral=_DEFERRALS.get(attempt.verdict),
        )

    @classmethod
    def without_parser(cls, problem: NoParser) -> Self:
        if problem.reason is None:
            return cls(deferral=problem.deferral, flow=problem.flow)
        return cls(reason=problem.reason, detail=problem.problem, flow=problem.flow)

    def deferred(self, deferral: Deferral) -> Self:
        """The same attempt as one that never was, because its outcome could not be kept."""
        return type(self)(
            parser=self.parser, instead_of=self.instead_of, flow=self.flow, deferral=deferral
        )

    def outcome(self, *, lane: Lane, slow_tries: int) -> Outcome:
        """What becomes of a message that was tried in ``lane``, after ``slow_tries`` before."""
        if self.deferral is not None:
            return Outcome.DIVERTED
        if self.reason in MAY_PASS_NEXT_TIME:
            was_last = lane is Lane.SLOW and slow_tries + 1 >= SLOW_TRIES_MAX
            return Outcome.PARKED if was_last else Outcome.DIVERTED
        if self.reason is not None:
            return Outcome.PARKED
        return Outcome.PARSED if self.events else Outcome.EMPTY
