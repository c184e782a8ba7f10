"""Charts as plain values, which the template draws in HTML; and their colours.

Blue and orange are from Okabe and Ito's palette, safe for every kind of colour vision.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Colour:
    """A colour as ``#rrggbb``."""

    name: str
    light: str
    dark: str


PAGE: Final = Colour(name="page", light="#f3f5f8", dark="#10151b")
CARD: Final = Colour(name="card", light="#ffffff", dark="#1a212a")
EDGE: Final = Colour(name="edge", light="#d5dce4", dark="#36414e")
INK: Final = Colour(name="ink", light="#17212b", dark="#e9eef3")
MUTED: Final = Colour(name="muted", light="#51606f", dark="#a9b6c3")
GRID: Final = Colour(name="grid", light="#e3e8ee", dark="#2c3641")
GOOD: Final = Colour(name="good", light="#0072b2", dark="#56b4e9")
WATCH: Final = Colour(name="watch", light="#b34e00", dark="#f0a13c")
ASIDE: Final = Colour(name="aside", light="#76838f", dark="#8794a1")

COLOURS: Final = (PAGE, CARD, EDGE, INK, MUTED, GRID, GOOD, WATCH, ASIDE)

_TICKS_MAX: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A horizontal bar, ``words`` at its end, and a tick at ``middle`` if it has one."""

    label: str
    value: float
    words: str
    colour: Colour = GOOD
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
