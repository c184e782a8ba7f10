"""Parked messages as issues: what has one stream, reason and problem in common.

A problem is a parked message's detail without its numbers, hex digits and quoted text.
"""

from typing import Final

from fleetlane.events.lake.queries import queries
from fleetlane.events.times import HOUR_MS
from operations.fleet.questions import Question, Row, ValueCell, cells, numbers
from operations.fleet.wording import NONE, moment_short

_BLOCKS: Final = " ▁▂▃▄▅▆▇█"
_SQL: Final = queries(__package__, "issues.sql", hour_ms=HOUR_MS)


def _by_hour(row: Row) -> str:
    """A block an hour of the last day, as high as its share of the fullest."""
    most = max(row["hours"], default=0)
    return "".join(_BLOCKS[-(-8 * one // most)] for one in row["hours"]) if most else NONE


ISSUES: Final = Question(
    name="issues",
    title="Parked in {days} days, by problem",
    sql=_SQL["issues"],
    columns={
        **cells(stream="stream", reason="reason", problem="problem", new_since="new since"),
        "newest": ValueCell("id"),
        **cells(", ".join, firmware="firmware", parsers="parsers"),
        **cells(moment_short, first_ms="first (UTC)", last_ms="last (UTC)"),
        "last 24 hours": _by_hour,
        **numbers(messages="messages", devices="devices"),
    },
    parameters={"stream": None, "issues_max": 100},
    text_columns=10,
    empty="Nothing was parked in the last {days} days.",
)
"""Most messages first. A message that was parked again counts once, as it was parked last.

``new_since`` is the parser, with its version, that the first of them was parked by, where another
version of it ran before: that one parked nothing alike. ``hours``: the last 24, the latest last.
"""
