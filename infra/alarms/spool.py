"""Alarms of the spool: what waits there for too long, and what cannot be read."""

from collections.abc import Iterator
from typing import Final

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch

from infra.alarms.alarm import AlarmRule
from infra.alarms.lane_metrics import NAMESPACE

SPOOLED_S_MAX: Final = 600


def spool_alarms() -> Iterator[AlarmRule]:
    """Silence is an alarm too: then nobody looks into the spool."""
    yield AlarmRule(
        name="spool-is-old",
        meaning=f"Messages have waited in the spool for over {SPOOLED_S_MAX} s, or nobody looks.",
        metric=_metric("OldestSpooledSeconds"),
        threshold=SPOOLED_S_MAX,
        periods=3,
        silence_alarms=True,
    )
    yield AlarmRule(
        name="spool-is-unreadable",
        meaning="The spool holds an object that respool cannot read; it stays where it is.",
        metric=_metric("UnreadableSpooled"),
        threshold=0,
    )


def _metric(name: str) -> cloudwatch.Metric:
    return cloudwatch.Metric(
        namespace=NAMESPACE,
        metric_name=name,
        dimensions_map={"service": "respool"},
        statistic="Maximum",
        period=Duration.minutes(1),
    )
