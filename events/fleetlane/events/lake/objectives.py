"""How flows kept their objectives, hour by hour: SQL that Spark and DuckDB answer alike."""

from collections.abc import Iterable
from importlib.resources import files
from typing import Final

from fleetlane.events.flows.flow import Flow
from fleetlane.events.lake.tables import MADE_UP

_NO_EVENTS: Final = "(select '' as raw_id, cast(0 as bigint) as lake_ms, 0 as revision where false)"
_SQL: Final = files(__package__).joinpath("objectives.sql").read_text(encoding="utf-8")


def objective_hours(flows: Iterable[Flow], *, received: str, parsed: str, events: str) -> str:
    """The query for rows of ``objectives``, of messages that arrived in some days.

    Each name is a relation with the rows of its table: of ``received`` and ``parsed`` those of
    the same days, of ``events`` and ``repeats`` together at least those whose messages arrived in
    them, which are read only for an objective of the lake. Without any objective it gives no rows.

    A message that was parsed, or that waits for longer than allowed, counts; one that was parked
    alone does not, and nothing of a replay with a later revision. One that is late is so by the hop
    that took longest.
    """
    given = [
        (flow.stream, objective, limit_ms)
        for flow in flows
        if flow.objective is not None
        for objective, limit_ms in flow.objective.limits_ms.items()
    ]
    return _SQL.format(
        objectives=", ".join(map(str, given)) or "('', '', 0)",
        received=received,
        parsed=parsed,
        events=events if any(objective == "lake" for _, objective, _ in given) else _NO_EVENTS,
        made_up=MADE_UP,
    )
