"""Charts as plain values, which the template draws in HTML."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

type Colour = Literal["good", "watch", "aside"]
"""By its name in ``colours.css``."""

_TICKS_MAX: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A horizontal bar, ``words`` at its end, and a tick at ``middle`` if it has one."""

    label: str
    value: float
    words: str
    colour: Colour = "good"
    middle: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Bars:
    """Bars from zero, in their order. ``alt`` describes them in words."""

    alt: str
    bars: Sequence[Bar]

    @property
    def top(self) -> float:
        """Where the longest ends."""
        return max((bar.value for bar in self.bars), default=0.0) or 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """Columns from zero to ``top``, the oldest first: a label, and a value of each of ``kinds``."""

    alt: str
    columns: Sequence[tuple[str, Sequence[int]]]
    kinds: Sequence[tuple[str, Colour]]
    top: int

    @property
    def ticks(self) -> range:
        """Round numbers from zero up to ``top``, six at most."""
        sizes = (factor * 10**power for power in range(19) for factor in (1, 2, 5))
        step = next(size for size in sizes if size * _TICKS_MAX >= self.top)
        return range(0, self.top + 1, step)

    def labels_each(self, labels_max: int) -> int:
        """Each how many columns a label stands, where there is room for so many."""
        return -(-len(self.columns) // labels_max)
