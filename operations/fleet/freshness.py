"""How far the lake has come."""

from dataclasses import dataclass
from typing import Final

from operations.fleet.fleet import Fleet

LATEST_SQL: Final = """
    select max(last_received_ms) as latest_ms
    from daily where first_received_ms <= $asked_at_ms
"""

CONCLUDED_SQL: Final = """
    select coalesce(sum(parsed + empty + parked), 0)::bigint as messages from daily
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Concluded:
    messages: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Latest:
    latest_ms: int | None


def latest_ms(fleet: Fleet) -> int | None:
    """When the latest message arrived that the lake holds; ``None`` where it holds none."""
    return fleet.rows(_Latest, LATEST_SQL, asked_at_ms=fleet.asked_at_ms)[0].latest_ms


def concluded(fleet: Fleet) -> int:
    """Of how many messages the lake knows the final outcome."""
    return fleet.rows(_Concluded, CONCLUDED_SQL)[0].messages
