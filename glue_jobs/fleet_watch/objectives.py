"""Which flows use up the budget of their objective too fast: a pure function of lake's hours."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from fleetlane.events.flows.flow import FlowSet
from fleetlane.events.metadata import Alert, AlertKind
from fleetlane.events.times import HOUR_MS

LONGEST_HOURS: Final = 72
BURNS: Final = ((1, 1, 14.4), (6, 1, 6.0), (LONGEST_HOURS, 6, 1.0))
"""A long and a short window in hours, and the burn that is too fast in both of them.

As in the SRE workbook, "Alerting on SLOs", multiwindow: the short one ends an alert soon after its
cause ended. An hour is the shortest that the lake counts.
"""

MESSAGES_MIN: Final = 20
"""With fewer messages in the long window a share means nothing."""


class ObjectiveHour(NamedTuple):
    """A row of the lake's table ``objectives``, as far as it is judged."""

    stream: str
    objective: str
    hour_ms: int
    messages: int
    late: int


def burning(
    hours: Iterable[ObjectiveHour], *, hour_ms: int, flows: FlowSet, now_ms: int
) -> Iterator[Alert]:
    """Judge the hour that begins at ``hour_ms``: of each objective the shortest window that burns.

    An alert's ``late_max`` would use up the budget exactly.
    """
    known = defaultdict[tuple[str, str], list[ObjectiveHour]](list)
    for hour in hours:
        known[hour.stream, hour.objective].append(hour)
    for (stream, objective), its_hours in sorted(known.items()):
        rule = flows[stream].objective if stream in flows else None
        if rule is None:
            continue
        share_max = 1 - rule.share
        for long, short, burn_max in BURNS:
            (messages, late), (few, few_late) = (
                _sums(its_hours, hour_ms, one) for one in (long, short)
            )
            late_max = messages * share_max
            is_fast = late > burn_max * late_max and few_late > burn_max * few * share_max
            if messages >= MESSAGES_MIN and is_fast:
                yield Alert(
                    id=f"{AlertKind.OBJECTIVE_BURNS}/{stream}/{objective}/{hour_ms}",
                    kind=AlertKind.OBJECTIVE_BURNS,
                    at_ms=now_ms,
                    stream=stream,
                    owner=flows[stream].owner,
                    from_ms=hour_ms + HOUR_MS - long * HOUR_MS,
                    window_s=long * HOUR_MS // 1_000,
                    objective=objective,
                    messages=messages,
                    late=late,
                    late_max=round(late_max),
                )
                break


def _sums(hours: Iterable[ObjectiveHour], hour_ms: int, last: int) -> tuple[int, int]:
    within = [one for one in hours if hour_ms - last * HOUR_MS < one.hour_ms <= hour_ms]
    return sum(one.messages for one in within), sum(one.late for one in within)
