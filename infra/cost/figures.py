"""Prices and measured figures, read from their two files."""

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from fleetlane.events.errors import FleetlaneError

_FOLDER: Final = Path(__file__).resolve().parent


class UnknownFigureError(FleetlaneError):
    """The model asks for a figure that its file does not have."""

    reason = "unknown_figure"
    file: str
    name: str
    sentence = "infra/cost/{file} has no [{name}]; add it, with its source"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """All that the model knows, by the names in the files, which say what they hold."""

    prices: Mapping[str, Mapping[str, Any]]
    measures: Mapping[str, Mapping[str, Any]]

    def usd(self, name: str, count: float = 1) -> float:
        """What ``count`` single units cost in one month."""
        if name not in self.prices:
            raise UnknownFigureError("prices.toml", name)
        price, usd, below = self.prices[name], 0.0, 0.0
        for up_to, tier_usd in price.get("tiers", [(math.inf, price["usd"])]):
            usd += max(0.0, min(count, up_to) - below) * tier_usd / price["units"]
            below = up_to
        return usd

    def measure(self, name: str) -> float:
        if name not in self.measures:
            raise UnknownFigureError("measured.toml", name)
        return float(self.measures[name]["value"])


def figures_of_files() -> Figures:
    prices, measures = (
        tomllib.loads((_FOLDER / name).read_text()) for name in ("prices.toml", "measured.toml")
    )
    return Figures(prices=prices, measures=measures)
