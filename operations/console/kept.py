"""Answers that are kept for a while, so that many who look cost what one does."""

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Final, cast

_ANSWERS_MAX: Final = 100


class Kept:
    """Answers by their source and key, each found by one thread at a time a source.

    ``fresh_s`` says how long an answer of each source is given again. One that failed is not.
    """

    def __init__(self, fresh_s: Mapping[str, float]) -> None:
        self._fresh_s = fresh_s
        self._locks = {source: threading.Lock() for source in fresh_s}
        self._known: dict[str, dict[object, tuple[float, Any]]] = {one: {} for one in fresh_s}

    def __call__[T](self, source: str, key: object, found: Callable[[], T]) -> T:
        with self._locks[source]:
            known = self._known[source]
            until_s, answer = known.pop(key, (0.0, None))
            if time.monotonic() >= until_s:
                answer, until_s = found(), time.monotonic() + self._fresh_s[source]
            if len(known) >= _ANSWERS_MAX:
                known.pop(next(iter(known)))  # what was asked for longest ago
            known[key] = (until_s, answer)
        return cast("T", answer)
