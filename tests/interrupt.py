"""Ctrl-C at a chosen place of running code: for tests that try each place, one after the other."""

import sys
from collections.abc import Callable, Iterator
from itertools import count
from types import FrameType
from typing import Final, Self

type IsPlace = Callable[[FrameType, str], bool]
"""Whether Ctrl-C may come at a frame's event, ``call`` or ``line``."""

_PLACES_MAX: Final = 10_000


class Interrupt:
    """Ctrl-C at one place, counted from 1 in the order in which they are reached."""

    def __init__(self, place: int, is_place: IsPlace) -> None:
        self.place, self._is_place, self._reached = place, is_place, 0

    @property
    def has_come(self) -> bool:
        return self._reached >= self.place

    def __enter__(self) -> Self:
        """Until it is left, ``KeyboardInterrupt`` is raised at the place in this thread."""
        self._before = sys.gettrace()
        sys.settrace(self)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(self._before)

    def __call__(self, frame: FrameType, kind: str, _: object) -> Self:
        if frame.f_code.co_filename != __file__ and self._is_place(frame, kind):
            self._reached += 1
            if self._reached == self.place:
                raise KeyboardInterrupt
        return self


def interrupts(is_place: IsPlace) -> Iterator[Interrupt]:
    """One for each place, until one did not come: the code had fewer places."""
    for place in count(1):
        assert place < _PLACES_MAX
        interrupt = Interrupt(place, is_place)
        yield interrupt
        if not interrupt.has_come:
            return
