"""Whether one more message of a device is within its ceilings: a pure function of what it spent."""

from enum import StrEnum
from typing import Final

import msgspec

from fleetlane.events.overrides import Ceilings

_MINUTE_MS: Final = 60_000


class Verdict(StrEnum):
    """What becomes of a message: its own lane, the slow lane, or a refusal."""

    WITHIN = "within"
    ASIDE = "aside"
    REFUSED = "refused"


class Spent(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What a device has spent: when each of its allowances will be whole again.

    An allowance is a minute's messages. It grows back evenly, so a device that was silent for a
    minute may send a minute's worth at once.
    """

    soft_whole_ms: float = 0.0
    hard_whole_ms: float = 0.0


NOTHING_SPENT: Final = Spent()


def verdict_on(spent: Spent, ceilings: Ceilings, *, now_ms: int) -> tuple[Verdict, Spent]:
    """Decide on one message, and say what its device has spent after it.

    A refused message spends nothing, and one that goes aside nothing of the soft allowance: a
    device that is a little too fast has most of its messages where they belong. A clock that was
    set back costs a device no more than two minutes.
    """
    hard_whole_ms = _after_one_more(spent.hard_whole_ms, ceilings.hard_per_minute, now_ms)
    if hard_whole_ms is None:
        return Verdict.REFUSED, spent
    soft_whole_ms = _after_one_more(spent.soft_whole_ms, ceilings.soft_per_minute, now_ms)
    if soft_whole_ms is None:
        aside = Spent(soft_whole_ms=spent.soft_whole_ms, hard_whole_ms=hard_whole_ms)
        return Verdict.ASIDE, aside
    return Verdict.WITHIN, Spent(soft_whole_ms=soft_whole_ms, hard_whole_ms=hard_whole_ms)


def _after_one_more(whole_ms: float, per_minute: int, now_ms: int) -> float | None:
    """When the allowance will be whole again after one more message; ``None``: it is used up."""
    was_set_back = whole_ms > now_ms + 2 * _MINUTE_MS  # no allowance takes longer than a minute
    from_ms = now_ms if was_set_back else max(whole_ms, now_ms)
    then_ms = from_ms + _MINUTE_MS / per_minute
    return then_ms if then_ms <= now_ms + _MINUTE_MS else None
