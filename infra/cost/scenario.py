"""What the bill is for: how many messages, how large, in which lanes, on which stage."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from fleetlane.events.errors import FleetlaneError
from fleetlane.events.lanes import INLINE_BYTES_MAX, LANE_LIMITS, Lane
from infra.stages import Engine, Stage

DAYS_A_MONTH: Final = 365 / 12
HOURS_A_MONTH: Final = 24 * DAYS_A_MONTH
INLINE_KIB_MAX: Final = INLINE_BYTES_MAX / 1024
LANE_SHARES: Final = MappingProxyType(
    {Lane.FAST: 0.10, Lane.STANDARD: 0.889, Lane.BULK: 0.01, Lane.SLOW: 0.001}
)

LARGE_LANES: Final = frozenset({Lane.BULK, Lane.SLOW})
"""Bodies over 256 KiB are in the bulk lane; in the slow one are those of them that overran."""

DAY_S: Final = 24 * 60 * 60
GB: Final = 1e9


class BadScenarioError(FleetlaneError):
    """The platform could not take this traffic."""

    reason = "bad_scenario"
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
    where a device sends once a minute. ``peak`` is the busiest time over the mean.

    Raises:
        BadScenarioError: A lane gets bodies or a rate that it does not take.
    """

    stage: Stage
    traffic: Mapping[Lane, Traffic]
    authorizer_hits: float = 0.8
    peak: float = 3

    def __post_init__(self) -> None:
        if not 0 <= self.authorizer_hits <= 1:
            raise BadScenarioError(f"a share of {self.authorizer_hits:g} hits; allowed: 0 to 1")
        if self.peak < 1:
            raise BadScenarioError(f"a peak of {self.peak:g} times the mean; allowed: 1 or more")
        for lane, traffic in self.traffic.items():
            _check_lane(lane, traffic, batch_messages_max=self.batch_messages_max(lane))

    @property
    def workers(self) -> Mapping[Lane, int]:
        """The stage's, by lane, the driver's included."""
        stage = self.stage
        each = (stage.fast_workers, stage.standard_workers, stage.bulk_workers, stage.slow_workers)
        return dict(zip(Lane, each, strict=True))

    def batch_messages_max(self, lane: Lane) -> int:
        """Of the lane's batches; those of the last two grow with the workers beside the driver."""
        of_worker = LANE_LIMITS[lane].messages_per_batch_max
        return of_worker * (max(1, self.workers[lane] - 1) if lane in LARGE_LANES else 1)

    @property
    def messages_a_month(self) -> float:
        return sum(traffic.messages_a_month for traffic in self.traffic.values())

    def with_body(self, lane: Lane, body_kib: float) -> "Scenario":
        changed = replace(self.traffic[lane], body_kib=body_kib)
        return replace(self, traffic={**self.traffic, lane: changed})

    def in_one_lane(self, lane: Lane, *, messages_a_day: float) -> "Scenario":
        """The same stage with one lane's messages alone, as large as they are there."""
        alone = replace(self.traffic[lane], messages_a_day=messages_a_day)
        return replace(self, traffic={lane: alone})


def usual_traffic(
    messages_a_day: float, *, body_kib: float, bulk_body_kib: float
) -> Mapping[Lane, Traffic]:
    """Messages spread over the lanes as they usually are; those of the last two are larger."""
    return {
        lane: Traffic(
            messages_a_day=messages_a_day * share,
            body_kib=bulk_body_kib if lane in LARGE_LANES else body_kib,
        )
        for lane, share in LANE_SHARES.items()
    }


def batched(scenario: Scenario, readings: int) -> Scenario:
    """The same readings in fewer messages; those of the last two lanes stay as they are."""
    traffic = {
        lane: one
        if lane in LARGE_LANES
        else replace(
            one,
            messages_a_day=one.messages_a_day / readings,
            body_kib=min(INLINE_KIB_MAX, one.body_kib * readings),
        )
        for lane, one in scenario.traffic.items()
    }
    return replace(scenario, traffic=traffic)


def with_engine(scenario: Scenario, engine: Engine) -> Scenario:
    return replace(scenario, stage=replace(scenario.stage, engine=engine))


def _check_lane(lane: Lane, traffic: Traffic, *, batch_messages_max: int) -> None:
    if traffic.messages_a_day <= 0 or traffic.body_kib <= 0:
        raise BadScenarioError(
            f"{traffic.messages_a_day:g} messages a day of {traffic.body_kib:g} KiB in the {lane} "
            "lane; both must be above 0"
        )
    if traffic.is_by_reference and lane not in LARGE_LANES:
        raise BadScenarioError(
            f"bodies of {traffic.body_kib:g} KiB in the {lane} lane; over {INLINE_KIB_MAX:g} KiB "
            "they go to the bulk lane"
        )
    trigger_ms = LANE_LIMITS[lane].trigger_ms
    per_s_max = batch_messages_max * 1000 / max(1, trigger_ms)
    if traffic.messages_per_s > per_s_max:
        raise BadScenarioError(
            f"{traffic.messages_per_s:,.1f} messages a second in the {lane} lane; it takes "
            f"{per_s_max:,.0f}: {batch_messages_max} in {trigger_ms} ms"
        )
