"""What the bill is for: messages by lane and size, the stage that takes them, and all figures.

Prices and measured figures are read from their two files.
"""

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from fleetlane.events.errors import FleetlaneError
from fleetlane.events.lanes import INLINE_BYTES_MAX, LANE_LIMITS, Lane
from infra.stages import Stage

DAYS_A_MONTH: Final = 365 / 12
HOURS_A_MONTH: Final = 24 * DAYS_A_MONTH
DAY_S: Final = 24 * 60 * 60
GB: Final = 1e9
KIB: Final = 1024
INLINE_KIB_MAX: Final = INLINE_BYTES_MAX / KIB
LANE_SHARES: Final = {Lane.FAST: 0.10, Lane.STANDARD: 0.889, Lane.BULK: 0.01, Lane.SLOW: 0.001}
LARGE_LANES: Final = frozenset({Lane.BULK, Lane.SLOW})
"""Bodies over 256 KiB are in the bulk lane; in the slow one are those of them that overran."""


class UnknownFigureError(FleetlaneError):
    """The model asks for a figure that its file does not have."""

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
        tomllib.loads(Path(__file__).with_name(name).read_text())
        for name in ("prices.toml", "measured.toml")
    )
    return Figures(prices=prices, measures=measures)


class BadScenarioError(FleetlaneError):
    """The platform could not take this traffic."""

    problem: str
    sentence = "{problem}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """One lane's messages, all of the same size."""

    messages_a_day: float
    body_kib: float

    @property
    def messages_a_month(self) -> float:
        return self.messages_a_day * DAYS_A_MONTH

    @property
    def messages_per_s(self) -> float:
        return self.messages_a_day / DAY_S

    @property
    def is_by_reference(self) -> bool:
        return self.body_kib > INLINE_KIB_MAX


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One stage under one traffic.

    ``authorizer_hits`` is the share of requests that API Gateway's cache answers: four in five
    where a device sends once a minute. ``peak`` is the busiest time over the mean. Bodies, or a
    rate, that a lane does not take are a ``BadScenarioError``.
    """

    stage: Stage
    traffic: Mapping[Lane, Traffic]
    figures: Figures
    authorizer_hits: float = 0.8
    peak: float = 3

    def __post_init__(self) -> None:
        for lane, one in self.traffic.items():
            of, per_s_max = f"in the {lane} lane", self.messages_per_s_max(lane)
            if one.messages_a_day <= 0 or one.body_kib <= 0:
                raise BadScenarioError(f"no messages, or empty ones, {of}; both must be above 0")
            if one.is_by_reference and lane not in LARGE_LANES:
                limit = f"over {INLINE_KIB_MAX:g} KiB they go to the bulk lane"
                raise BadScenarioError(f"bodies of {one.body_kib:g} KiB {of}; {limit}")
            if one.messages_per_s > per_s_max:
                asked = f"{one.messages_per_s:,.1f} messages a second {of}"
                raise BadScenarioError(f"{asked}; it takes {per_s_max:,.0f}")

    def usd(self, name: str, count: float = 1) -> float:
        return self.figures.usd(name, count)

    def measure(self, name: str) -> float:
        return self.figures.measure(name)

    @property
    def messages_a_month(self) -> float:
        return sum(traffic.messages_a_month for traffic in self.traffic.values())

    def messages_per_s_max(self, lane: Lane) -> float:
        """What a lane's batches take; those of the last two grow with the workers."""
        limits, executors = LANE_LIMITS[lane], max(1, self.stage.lane_workers[lane] - 1)
        messages = limits.messages_per_batch_max * (executors if lane in LARGE_LANES else 1)
        return messages * 1000 / max(1, limits.trigger_ms)

    def on(self, **settings: Any) -> "Scenario":
        """The same traffic on a stage with other settings."""
        return replace(self, stage=replace(self.stage, **settings))

    def with_body(self, lane: Lane, body_kib: float) -> "Scenario":
        changed = replace(self.traffic[lane], body_kib=body_kib)
        return replace(self, traffic={**self.traffic, lane: changed})


def usual_traffic(
    messages_a_day: float, *, body_kib: float, bulk_body_kib: float
) -> Mapping[Lane, Traffic]:
    """Messages spread over the lanes as they usually are; those of the last two are larger."""
    kib = {lane: bulk_body_kib if lane in LARGE_LANES else body_kib for lane in Lane}
    return {
        lane: Traffic(messages_a_day=messages_a_day * share, body_kib=kib[lane])
        for lane, share in LANE_SHARES.items()
    }
