"""Whether one more message of a device is within its ceilings."""

from enum import StrEnum
from typing import Final, Self

import msgspec

from fleetlane.events.overrides import Ceilings
from fleetlane.events.token_bucket import TokenBucket

_MINUTE_S: Final = 60.0


class Verdict(StrEnum):
    """What becomes of a message: its own lane, the slow lane, or a refusal."""

    WITHIN = "within"
    ASIDE = "aside"
    REFUSED = "refused"


class Allowances(msgspec.Struct, kw_only=True, gc=False):
    """What a device may still send: a minute at the most, of which a message takes its share.

    Counted in seconds and not in messages, so that ceilings may change at any time. A device that
    was silent for a minute may send a minute's worth at once.
    """

    soft: TokenBucket
    hard: TokenBucket

    @classmethod
    def full(cls, now_ms: int) -> Self:
        minute = TokenBucket.full(burst=_MINUTE_S, per_s=1.0, now_s=now_ms / 1_000)
        return cls(soft=minute, hard=msgspec.structs.replace(minute))

    def spend_one(self, ceilings: Ceilings, *, now_ms: int) -> Verdict:
        """Decide on one message, and take its share of the allowances.

        A refused message takes nothing, and one that goes aside nothing of the soft allowance: a
        device that is a little too fast has most of its messages where they belong. A clock that
        was set back costs a device no more than two minutes.
        """
        now_s = now_ms / 1_000
        if not self.hard.take(now_s, _MINUTE_S / ceilings.hard_per_minute):
            return Verdict.REFUSED
        if not self.soft.take(now_s, _MINUTE_S / ceilings.soft_per_minute):
            return Verdict.ASIDE
        return Verdict.WITHIN
