"""An alarm as data, and metrics of ours for it to watch."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch

from fleetlane.events.lanes import Lane
from fleetlane.events.metrics import Dimension, JobMetric, LaneMetric, namespace_of
from infra.stages import Stage

PUBLISHED_MINUTES: Final = 5
"""The watch publishes what it found, of flows and of the canary, at least this often."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AlarmRule:
    """An alarm, as ``alarms.toml`` describes its kind."""

    name: str
    meaning: str
    metric: cloudwatch.IMetric
    threshold: float = 0
    periods: int = 1
    silence_alarms: bool = False
    is_low: bool = False


def alarm(
    kind: str,
    metric: cloudwatch.IMetric,
    of: Mapping[str, object] = MappingProxyType({}),
    **own: float,
) -> AlarmRule:
    """``of`` has what the names in ``kind`` stand for, ``own`` what its kind leaves open."""
    settings = {**_kinds()[kind], **own}
    meaning = settings.pop("meaning").format(**settings, **of)
    return AlarmRule(name=kind.format(**of), meaning=meaning, metric=metric, **settings)


@cache
def _kinds() -> Mapping[str, Mapping[str, Any]]:
    return tomllib.loads(Path(__file__).with_name("alarms.toml").read_text())


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
