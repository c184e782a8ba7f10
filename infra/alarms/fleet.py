"""Alarms of what watches the fleet, and of the lake that it is seen by."""

from collections.abc import Iterator
from typing import Final

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch

from fleetlane.events.job_arguments import LakeTables
from infra.alarms.alarm import AlarmRule
from infra.alarms.lane_metrics import (
    INSANE_DEVICES_LEFT,
    LAKE_LAG_SECONDS,
    LOW_COVERAGE_FLOWS,
    MUCH_PARKED_FLOWS,
    NAMESPACE,
)

_JOB: Final = "fleet_watch"
_MINUTES: Final = 5
"""So often the watch publishes what it found of flows, at least."""

LAKE_LAG_S_MAX: Final = 3_600
"""Twelve triggers of the lake."""


def watch_alarms() -> Iterator[AlarmRule]:
    """One device out of its mind is held back, and told of in ``fleet.alerts``; many alarm."""
    yield AlarmRule(
        name="too-many-insane-devices",
        meaning="More devices are over their ceilings than are held back at once.",
        metric=_metric(INSANE_DEVICES_LEFT, job=_JOB),
        threshold=0,
    )
    yield AlarmRule(
        name="flow-hears-few-devices",
        meaning="A flow heard fewer devices in its last hour than that hour of the week does.",
        metric=_metric(LOW_COVERAGE_FLOWS, job=_JOB, minutes=2 * _MINUTES),
        threshold=0,
    )
    yield AlarmRule(
        name="flow-parks-much",
        meaning="More of a flow's messages of its last hour are parked than is usual for it.",
        metric=_metric(MUCH_PARKED_FLOWS, job=_JOB, minutes=2 * _MINUTES),
        threshold=0,
    )
    for tables in LakeTables:
        yield AlarmRule(
            name=f"lake-{tables}-is-late",
            meaning=f"The lake's {tables} tables are over {LAKE_LAG_S_MAX} s behind their topics.",
            metric=_metric(LAKE_LAG_SECONDS, job=f"lake_{tables}"),
            threshold=LAKE_LAG_S_MAX,
            periods=3,
            silence_alarms=True,
        )


def _metric(name: str, *, job: str, minutes: int = _MINUTES) -> cloudwatch.Metric:
    return cloudwatch.Metric(
        namespace=NAMESPACE,
        metric_name=name,
        dimensions_map={"job": job},
        statistic="Maximum",
        period=Duration.minutes(minutes),
    )
