"""Prices and measured figures, read from their two files, and the lines that are made of them."""

import datetime as dt
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from fleetlane.events.errors import FleetlaneError
from fleetlane.events.lanes import Lane

_FOLDER: Final = Path(__file__).resolve().parent


class UnknownFigureError(FleetlaneError):
    """The model asks for a figure that its file does not have."""

    reason = "unknown_figure"
    file: str
    name: str
    sentence = "infra/cost/{file} has no [{name}]; add it, with its source"


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """``usd`` for ``units``. A tier is up to how many units in a month, and its price."""

    usd: float
    units: int
    unit: str
    source: str
    noted: dt.date
    note: str | None = None
    tiers: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """A figure of our own, and how it was obtained."""

    value: float
    unit: str
    how: Literal["measured", "indicative", "counted", "assumed"]
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """All that the model knows, by the names in the files."""

    prices: Mapping[str, Price]
    measures: Mapping[str, Measure]

    def usd(self, name: str, count: float = 1) -> float:
        """What ``count`` single units cost, without tiers."""
        price = self._price(name)
        return price.usd * count / price.units

    def tiered_usd(self, name: str, count: float) -> float:
        """What ``count`` single units cost in one month."""
        price, usd, below = self._price(name), 0.0, 0.0
        for up_to, tier_usd in price.tiers:
            usd += max(0.0, min(count, up_to) - below) * tier_usd / price.units
            below = up_to
        return usd

    def measure(self, name: str) -> float:
        if name not in self.measures:
            raise UnknownFigureError("measured.toml", name)
        return self.measures[name].value

    def _price(self, name: str) -> Price:
        if name not in self.prices:
            raise UnknownFigureError("prices.toml", name)
        return self.prices[name]


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """What a component costs in a month.

    ``fixed_usd`` is paid without a single message; ``growing_usd`` comes on top, with messages.
    Without a ``lane`` all lanes share it, by their messages.
    """

    component: str
    lane: Lane | None = None
    fixed_usd: float = 0.0
    growing_usd: float = 0.0

    @property
    def usd(self) -> float:
        return self.fixed_usd + self.growing_usd


def figures_of_files() -> Figures:
    prices = tomllib.loads((_FOLDER / "prices.toml").read_text())
    measures = tomllib.loads((_FOLDER / "measured.toml").read_text())
    return Figures(
        prices={name: _price(fields) for name, fields in prices.items()},
        measures={name: Measure(**fields) for name, fields in measures.items()},
    )


def _price(fields: dict[str, object]) -> Price:
    tiers = fields.pop("tiers", [])
    assert isinstance(tiers, list)
    return Price(tiers=tuple((up_to, usd) for up_to, usd in tiers), **fields)  # type: ignore[arg-type]  # TOML is untyped
