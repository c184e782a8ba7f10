"""Answers that are kept for a while, so that many who look cost what one does."""

import math
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final, cast

from fleetlane.events.errors import FleetlaneError

_ANSWERS_MAX: Final = 100
_FIRST_S: Final = 0.3
"""For so long a page that has its answers is written, before the next are found beside it."""


class Kept:
    """Answers by their source and key, each found by one thread at a time a source.

    ``fresh_s`` says how long an answer of each source is given again. One that failed is not.
    Until it is ``old_s`` old it is given at once, and the next is found meanwhile: a page of a busy
    platform shows what it was seconds ago, and nobody waits for it.
    """

    def __init__(self, fresh_s: Mapping[str, float], *, old_s: float = 0.0) -> None:
        self._fresh_s, self._old_s = fresh_s, old_s
        self._refreshed = set[tuple[str, object]]()
        self._locks = {source: threading.Lock() for source in fresh_s}
        self._known: dict[str, dict[object, tuple[float, Any]]] = {one: {} for one in fresh_s}

    def __call__[T](self, source: str, key: object, found: Callable[[], T]) -> T:
        age_s, answer = self._age_of(source, key)
        if age_s >= self._fresh_s[source]:
            if age_s >= self._old_s:
                return self._found(source, key, found)
            self._refresh(source, key, found)
        return cast("T", answer)

    def _age_of(self, source: str, key: object) -> tuple[float, Any]:
        found_s, answer = self._known[source].get(key, (-math.inf, None))
        return time.monotonic() - found_s, answer

    def _refresh(self, source: str, key: object, found: Callable[[], object]) -> None:
        if (source, key) in self._refreshed:
            return
        self._refreshed.add((source, key))

        def refresh() -> None:
            try:
                with suppress(FleetlaneError):  # raised where the answer is too old
                    self._found(source, key, found)
            finally:
                self._refreshed.discard((source, key))

        timer = threading.Timer(_FIRST_S, refresh)
        timer.daemon = True
        timer.start()

    def _found[T](self, source: str, key: object, found: Callable[[], T]) -> T:
        with self._locks[source]:
            age_s, answer = self._age_of(source, key)
            if age_s >= self._fresh_s[source]:
                answer, known = found(), self._known[source]
                known.pop(key, None)
                if len(known) >= _ANSWERS_MAX:
                    known.pop(next(iter(known)))  # what was found longest ago
                known[key] = (time.monotonic(), answer)
        return cast("T", answer)
