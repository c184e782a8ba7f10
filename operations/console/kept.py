"""Answers that are kept for a while, so that many who look cost what one does."""

import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final, cast

from fleetlane.events.errors import FleetlaneError

_ANSWERS_MAX: Final = 100


class Kept:
    """Answers by their source and key, each found by one thread at a time a source.

    ``fresh_s`` says how long an answer of each source is given again. One that failed is not.
    For ``stale_s`` more it is given at once, and the next is found meanwhile: a page of a busy
    platform shows what it was seconds ago, and nobody waits for it.
    """

    def __init__(self, fresh_s: Mapping[str, float], *, stale_s: float = 0.0) -> None:
        self._fresh_s, self._stale_s = fresh_s, stale_s
        self._refreshed = set[tuple[str, object]]()
        self._locks = {source: threading.Lock() for source in fresh_s}
        self._known: dict[str, dict[object, tuple[float, Any]]] = {one: {} for one in fresh_s}

    def __call__[T](self, source: str, key: object, found: Callable[[], T]) -> T:
        until_s, answer = self._known[source].get(key, (-self._stale_s, None))
        over_s = time.monotonic() - until_s
        if over_s >= self._stale_s:
            return self._found(source, key, found)
        if over_s >= 0:
            self._refresh(source, key, found)
        return cast("T", answer)

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

        threading.Thread(target=refresh, daemon=True).start()

    def _found[T](self, source: str, key: object, found: Callable[[], T]) -> T:
        with self._locks[source]:
            known = self._known[source]
            until_s, answer = known.get(key, (0.0, None))
            if time.monotonic() >= until_s:
                answer, until_s = found(), time.monotonic() + self._fresh_s[source]
            known.pop(key, None)
            if len(known) >= _ANSWERS_MAX:
                known.pop(next(iter(known)))  # what was found longest ago
            known[key] = (until_s, answer)
        return cast("T", answer)
