"""The token bucket: so much at once, and so much a second over time."""

from collections import defaultdict
from functools import partial
from typing import Self

import msgspec

_ROUNDING = 1e-9
"""Sixty sevenths of a minute are a hair over a minute in floating point, and must fit into one."""


class TokenBucket(msgspec.Struct, kw_only=True, gc=False):
    """What is left of an allowance. For one thread; the caller brings the clock.

    ``burst`` is the most it holds. While the clock is behind where it was, nothing comes back; one
    that was set back by more than it takes to fill the bucket starts it anew, full.
    """

    burst: float
    per_s: float
    left: float
    at_s: float

    @classmethod
    def full(cls, *, burst: float, per_s: float, now_s: float) -> Self:
        return cls(burst=burst, per_s=per_s, left=burst, at_s=now_s)

    @classmethod
    def by_name(cls, *, burst: float, per_s: float) -> defaultdict[str, Self]:
        """A bucket for each name that is asked for, full at first."""
        return defaultdict(partial(cls.full, burst=burst, per_s=per_s, now_s=0))

    def left_at(self, now_s: float) -> float:
        """What is left now, with what has come back since; negative after an overdraft."""
        regained = (now_s - self.at_s) * self.per_s
        if regained > 0:
            self.left, self.at_s = min(self.burst, self.left + regained), now_s
        elif regained < -self.burst:
            self.left, self.at_s = self.burst, now_s
        return self.left

    def take(self, now_s: float, amount: float = 1.0) -> bool:
        """Take ``amount`` if there is so much, else nothing."""
        if self.left_at(now_s) + _ROUNDING < amount:
            return False
        self.overdraw(now_s, amount)
        return True

    def overdraw(self, now_s: float, amount: float) -> None:
        """Take ``amount`` whatever is left: it has been used already."""
        self.left = self.left_at(now_s) - amount
