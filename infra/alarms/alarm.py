"""An alarm as data, and metrics of ours for it to watch."""

from collections.abc import Mapping
from dataclasses import dataclass

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch

from fleetlane.events.metrics import (
    NAMESPACE,
    ApplicationMetric,
    Dimension,
    FunctionMetric,
    JobMetric,
    LaneMetric,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AlarmRule:
    """Alarms when ``metric`` is above ``threshold`` for ``periods`` in a row.

    Or below it, where ``is_low`` is what is wrong.
    ``meaning`` is the alarm's message: what is wrong, and the first thing to do. With
    ``silence_alarms``, missing data alarms too.
    """

    name: str
    meaning: str
    metric: cloudwatch.IMetric
    threshold: float = 0
    periods: int = 1
    silence_alarms: bool = False
    is_low: bool = False


def our_metric(
    metric: FunctionMetric | LaneMetric | ApplicationMetric | JobMetric,
    by: Mapping[Dimension, str],
    *,
    statistic: str = "Sum",
    minutes: int = 1,
    label: str | None = None,
) -> cloudwatch.Metric:
    return cloudwatch.Metric(
        namespace=NAMESPACE,
        metric_name=metric,
        dimensions_map={str(name): value for name, value in by.items()},
        statistic=statistic,
        period=Duration.minutes(minutes),
        label=label,
    )
