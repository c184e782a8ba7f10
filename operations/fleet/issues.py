"""Parked messages as issues: what has one stream, reason and problem in common.

A problem is a parked message's detail without its numbers, hex digits and quoted text.
"""

from typing import Final

from fleetlane.events.lake.queries import queries
from fleetlane.events.times import HOUR_MS
from operations.fleet.questions import question

_SQL: Final = queries(__package__, "issues.sql", hour_ms=HOUR_MS)


ISSUES: Final = question("issues", _SQL["issues"], parameters={"stream": None, "issues_max": 100})
"""Most messages first. A message that was parked again counts once, as it was parked last.

``new_since`` is the parser, with its version, that the first of them was parked by, where another
version of it ran before: that one parked nothing alike. ``hours``: the last 24, the latest last.
"""
