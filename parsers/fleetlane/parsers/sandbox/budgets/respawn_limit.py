"""How many children a parser may use up: its failures must not become a storm of forks."""

import time
from collections.abc import Callable
from typing import Final

RETRIES_BURST: Final = 20
RETRIES_PER_S: Final = 0.2


class RespawnBudget:
    """So many children at once, and so many a second over time."""

    def __init__(
        self,
        *,
        burst: int = 100,
        per_s: float = 10.0,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._burst, self._per_s, self._monotonic = burst, per_s, monotonic
        self._left, self._at_s = float(burst), monotonic()

    def take(self) -> bool:
        """Take one, if there is one left."""
        now_s = self._monotonic()
        self._left = min(self._burst, self._left + (now_s - self._at_s) * self._per_s)
        self._at_s = now_s
        if self._left < 1:
            return False
        self._left -= 1
        return True


def few_retries() -> RespawnBudget:
    """The budget of second tries at what failed, and killed no child.

    They help where the first child was to blame. A parser that fails all the time would double the
    time of all messages by them; what failed has more tries in the slow lane.
    """
    return RespawnBudget(burst=RETRIES_BURST, per_s=RETRIES_PER_S)
