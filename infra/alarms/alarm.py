"""An alarm as data, and metrics of ours for it to watch."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from types import MappingProxyType
from typing import Final

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch

from fleetlane.events.lanes import Lane
from fleetlane.events.metrics import Dimension, JobMetric, LaneMetric, namespace_of
from infra.stages import Stage

PUBLISHED_MINUTES: Final = 5
"""The watch publishes what it found, of flows and of the canary, at least this often."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AlarmRule:
    """Alarms when ``metric`` is above ``threshold`` for ``periods`` in a row.

    Or below it, where ``is_low`` is what is wrong. With ``silence_alarms``, missing data alarms
    too. ``of`` has what the names in ``kind`` and in its meaning stand for.
    """

    kind: str
    metric: cloudwatch.IMetric
    threshold: float = 0
    periods: int = 1
    silence_alarms: bool = False
    is_low: bool = False
    of: Mapping[str, object] = MappingProxyType({})

    @property
    def name(self) -> str:
        return self.kind.format(**self.of)

    @property
    def meaning(self) -> str:
        return _meanings()[self.kind].format(threshold=self.threshold, **self.of)


@cache
def _meanings() -> Mapping[str, str]:
    return tomllib.loads(Path(__file__).with_name("meanings.toml").read_text())


def metric_of(
    namespace: str,
    name: str,
    by: Mapping[Dimension, str] | Mapping[str, str],
    *,
    statistic: str = "Sum",
    minutes: int = 1,
    label: str | None = None,
) -> cloudwatch.Metric:
    return cloudwatch.Metric(
        namespace=namespace,
        metric_name=name,
        dimensions_map={str(dimension): value for dimension, value in by.items()},
        statistic=statistic,
        period=Duration.minutes(minutes),
        label=label,
    )


class OurMetrics:
    """What is counted in a stage, for its alarms and its dashboard to watch."""

    def __init__(self, stage: Stage) -> None:
        self.of = partial(metric_of, namespace_of(stage.name))

    def of_lane(
        self, metric: LaneMetric, lane: Lane, *, statistic: str = "Sum"
    ) -> cloudwatch.Metric:
        by, label = {Dimension.LANE: lane}, f"{metric} {lane}"
        return self.of(metric, by, statistic=statistic, label=label)

    def of_job(
        self, metric: JobMetric, *, job: str, minutes: int = PUBLISHED_MINUTES
    ) -> cloudwatch.Metric:
        return self.of(metric, {Dimension.JOB: job}, statistic="Maximum", minutes=minutes)
