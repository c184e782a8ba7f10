"""The report's colours: each by its name, in light and in dark.

Blue and orange are from Okabe and Ito's palette, safe for every kind of colour vision.
Charts are drawn in the light ones; the page's style sheet maps each to a variable.
"""

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
IN_CHARTS: Final = (INK, MUTED, GRID, GOOD, WATCH, ASIDE)
"""Those that charts are drawn in."""
