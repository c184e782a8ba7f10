"""A circuit breaker: after a failure only a probe now and then calls the service."""

import threading
from enum import Enum, auto


class Turn(Enum):
    """What a caller may do: ask; ask, but for a short while only; not ask."""

    ASK = auto()
    PROBE = auto()
    LEAVE = auto()


class CircuitBreaker:
    """Open after one failure, closed again by the first success. For any number of threads.

    While it is open one caller at a time probes: at first ``probe_every_ms`` after the failure,
    then after twice that, and so on up to ``probe_every_ms_max``. Times are of any clock that only
    grows, in milliseconds.
    """

    def __init__(self, *, probe_every_ms: int = 500, probe_every_ms_max: int = 4_000) -> None:
        self._first_ms, self._most_ms = probe_every_ms, probe_every_ms_max
        self._lock = threading.Lock()
        self.opened_ms: int | None = None
        """Since when it has been open; ``None`` while it is closed. To be read alone."""
        self._every_ms = probe_every_ms
        self._probe_at_ms = 0

    def turn(self, now_ms: int) -> Turn:
        """What a caller may do now. A probe that never reports back holds up no later one."""
        with self._lock:
            if self.opened_ms is None:
                return Turn.ASK
            if now_ms < self._probe_at_ms:
                return Turn.LEAVE
            self._every_ms = min(2 * self._every_ms, self._most_ms)
            self._probe_at_ms = now_ms + self._every_ms
            return Turn.PROBE

    def succeeded(self) -> None:
        with self._lock:
            self.opened_ms = None

    def failed(self, now_ms: int) -> None:
        """Open it; if it is open already, so it stays."""
        with self._lock:
            if self.opened_ms is None:
                self.opened_ms = now_ms
                self._every_ms = self._first_ms
                self._probe_at_ms = now_ms + self._first_ms
