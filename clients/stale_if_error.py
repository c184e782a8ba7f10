"""A cache of one value that keeps the last value while reading it anew fails."""

import math
import threading
import time
from collections.abc import Callable

from fleetlane.events.errors import FleetlaneError

STALE_FACTOR = 4
"""Times as old as usual: of very many reads some fail, and the next one does not."""


class StaleIfErrorCache[T, E: FleetlaneError]:
    """One value, read again when it is too old; the last one read while reading fails.

    May be used by several threads: one reads, the others go on with what is known. With
    ``wait_s`` a read goes on in a thread of its own, and nobody waits longer for it than that:
    what it finds is there for later callers.
    """

    def __init__(
        self,
        read: Callable[[], T],
        *,
        unanswered: E,
        max_age_s: float,
        wait_s: float | None = None,
        kept: Callable[[], T | None] = lambda: None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Describe it; nothing is read yet.

        ``kept`` gives an older value, if there is any, for where the first read fails.
        ``read`` raises errors of the type of ``unanswered``, which itself is raised as long as
        nothing is known and the first read is still under way. A value as old as ``max_age_s``, or
        a failure, is followed by another read.
        """
        self._read, self._unanswered, self._failure = read, unanswered, type(unanswered)
        self._max_age_s, self._wait_s, self._monotonic = max_age_s, wait_s, monotonic
        self._reading, self._starting = threading.Lock(), threading.Lock()
        self._kept = kept
        self.on_stale: Callable[[E], None] = lambda _: None
        """Called where reading fails and what is known is four times as old, or none was read."""
        self._reader: threading.Thread | None = None
        self._known: T | None = None
        self._problem: E | None = None
        self._read_s = self._known_s = -math.inf
        self._has_failed = False

    def current(self, *, max_age_s: float | None = None) -> T:
        """Give the value, at most ``max_age_s`` old unless reading fails or takes longer.

        Give ``max_age_s`` for a younger value than usual. After a failure the usual age applies.
        Raises an error of the type of ``unanswered`` where nothing was ever read.
        """
        age_s = self._max_age_s if max_age_s is None or self._has_failed else max_age_s
        if self._monotonic() >= self._read_s + age_s:
            if self._wait_s is None:
                self._read_here(age_s, wait=self._known is None)
            else:
                self._read_aside(age_s, self._wait_s)
        if self._known is None:
            raise self._unavailable()
        return self._known

    def fresh(self, *, max_age_s: float) -> T:
        """Give the value as it was read at most ``max_age_s`` ago, or raise as ``current``.

        While reading fails it is asked as often as by ``current``.
        """
        value = self.current(max_age_s=max_age_s)
        if self._has_failed or self._monotonic() > self._read_s + max_age_s:
            raise self._unavailable()
        return value

    def _unavailable(self) -> E:
        """The last problem, anew: a traceback grows with each raise."""
        problem = self._problem or self._unanswered
        return type(problem)(*problem.args)

    def _read_aside(self, age_s: float, wait_s: float) -> None:
        with self._starting:
            is_under_way = self._reader is not None and self._reader.is_alive()
            if not is_under_way:
                self._reader = threading.Thread(target=self._read_here, args=(age_s,), daemon=True)
                self._reader.start()
            reader = self._reader
        if reader is not None and (self._known is None or not is_under_way):
            reader.join(wait_s)

    def _read_here(self, age_s: float, *, wait: bool = True) -> None:
        if self._reading.acquire(blocking=wait):
            try:
                wait_s = self._max_age_s if self._has_failed else age_s
                began_s = self._monotonic()
                if began_s >= self._read_s + wait_s:  # nobody else was first
                    self._read_now()
                    # Aside it may have been frozen in between, as Lambda's functions are.
                    self._read_s = self._monotonic() if self._wait_s is None else began_s
            finally:
                self._reading.release()

    def _read_now(self) -> None:
        try:
            self._known = self._read()
            self._has_failed, self._known_s = False, self._monotonic()
        except self._failure as problem:
            self._problem, self._has_failed = problem, True
            if self._monotonic() - self._known_s > STALE_FACTOR * self._max_age_s:
                self.on_stale(problem)
            if self._known is None:
                self._known = self._kept()
