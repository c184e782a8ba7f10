"""The smallest bytes for which a parser breaks its contract, found by hypothesis."""

import time
from collections.abc import Callable
from typing import Final

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

_SHRINK_S_MAX: Final = 10.0
_BYTES_MAX: Final = 4096


class _WrongError(Exception):
    """Shows hypothesis that these bytes are what is searched for."""


def first_wrong(
    is_wrong: Callable[[bytes], bool], *, examples: int, around: tuple[bytes, ...] = ()
) -> bytes | None:
    """Bytes for which ``is_wrong``, made as small as ten seconds allow; ``None`` if none is found.

    Tries the same bytes each time: any at all and, of samples, their beginnings with any bytes
    behind. So a parser of messages that begin in one certain way is reached, too.
    """
    known: dict[bytes, bool] = {}
    search = _Search(is_wrong, known)

    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        derandomize=True,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    @given(body=_bodies(around))
    def look(body: bytes) -> None:
        if search.is_wrong(body):
            raise _WrongError

    try:
        look()
    except _WrongError:
        return min(
            (body for body, wrong in known.items() if wrong), key=lambda one: (len(one), one)
        )
    return None


class _Search:
    """Once time is up, whatever was not tried before passes: what is known stays as it is."""

    def __init__(self, is_wrong: Callable[[bytes], bool], known: dict[bytes, bool]) -> None:
        self._is_wrong, self._known = is_wrong, known
        self._give_up_s: float | None = None

    def is_wrong(self, body: bytes) -> bool:
        if body not in self._known:
            if self._give_up_s is not None and time.monotonic() > self._give_up_s:
                return False
            self._known[body] = self._is_wrong(body)
            if self._known[body] and self._give_up_s is None:
                self._give_up_s = time.monotonic() + _SHRINK_S_MAX
        return self._known[body]


def _bodies(around: tuple[bytes, ...]) -> st.SearchStrategy[bytes]:
    anything = st.binary(max_size=_BYTES_MAX)
    if not around:
        return anything
    beginnings = st.sampled_from(around).flatmap(
        lambda sample: st.integers(0, len(sample)).map(lambda length: sample[:length])
    )
    return anything | st.builds(bytes.__add__, beginnings, st.binary(max_size=64))
