"""A token bucket: so many requests a second, and so many at once."""

import time
from collections.abc import Callable


class TokenBucket:
    """Full at first. For one thread."""

    def __init__(
        self, *, rate_per_s: float, burst: int, clock_s: Callable[[], float] = time.monotonic
    ) -> None:
        self._rate_per_s, self._burst, self._clock_s = rate_per_s, burst, clock_s
        self._tokens, self._filled_s = float(burst), clock_s()

    def take(self) -> bool:
        """Take a token if there is one."""
        now_s = self._clock_s()
        grown = (now_s - self._filled_s) * self._rate_per_s
        self._tokens, self._filled_s = min(self._burst, self._tokens + grown), now_s
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True
