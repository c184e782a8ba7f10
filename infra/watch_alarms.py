"""Alarms of what watches the fleet."""

from collections.abc import Iterator
from typing import Final

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch

from infra.alarms import AlarmRule
from infra.lane_metrics import INSANE_DEVICES_LEFT, NAMESPACE

_JOB: Final = "fleet_watch"


def watch_alarms() -> Iterator[AlarmRule]:
    """One device out of its mind is held back, and told of in ``fleet.alerts``; many alarm."""
    yield AlarmRule(
        name="too-many-insane-devices",
        meaning="More devices are over their ceilings than are held back at once.",
        metric=cloudwatch.Metric(
            namespace=NAMESPACE,
            metric_name=INSANE_DEVICES_LEFT,
            dimensions_map={"job": _JOB},
            statistic="Maximum",
            period=Duration.minutes(5),
        ),
        threshold=0,
    )
