"""How flows keep their objectives: over an hour, a day and 28 days, and where time is lost."""

from collections.abc import Iterable
from typing import Final

from fleetlane.events.flows.flow import Flow
from fleetlane.events.lake.objectives import objective_hours
from fleetlane.events.lake.queries import queries
from fleetlane.events.times import DAY_MS, HOUR_MS
from operations.fleet.questions import Question, question

OBJECTIVE_DAYS: Final = 28
_LIVE: Final = f"day >= epoch_ms($asked_at_ms - {DAY_MS})::date"


def objectives_of(flows: Iterable[Flow]) -> Question:
    """The question for flows that have an objective; of others there are no rows.

    Hours that the lake has not counted yet are counted now. A window is of the clock's hours that
    reach into it, the hour that is not over included. ``burn`` is the share of late messages over
    the share that may be late: at 1 the budget lasts exactly. ``late_by`` is the hop of most.
    """
    judged = [flow for flow in flows if flow.objective is not None]
    live = objective_hours(
        judged,
        received=f"(select * from received where {_LIVE})",
        parsed=f"(select * from parsed where {_LIVE})",
        events="(from kept_events union all from kept_repeats)",
    )
    listed = [f"('{one.stream}', {one.objective.share})" for one in judged if one.objective]
    shares = ", ".join(listed) or "('', 0.5)"
    sql = queries(__package__, "objectives.sql", live=live, shares=shares, hour_ms=HOUR_MS)
    return question("objectives", sql["objectives"], parameters={"stream": None})
