"""Alarms of the fleet watch, and of the lake whose tables it reads."""

from collections.abc import Iterator
from typing import Final

from aws_cdk import aws_cloudwatch as cloudwatch

from fleetlane.events.job_arguments import LakeTables
from fleetlane.events.metrics import FLEET_WATCH, Dimension, JobMetric, lake_job
from infra.alarms.alarm import AlarmRule, our_metric

_PUBLISHED_MINUTES: Final = 5
"""The watch publishes what it found about flows at least this often."""

LAKE_LAG_S_MAX: Final = 3_600
"""Twelve of the lake's trigger intervals."""


def fleet_alarms() -> Iterator[AlarmRule]:
    """One runaway device is held back and reported in ``fleet.alerts``; many raise an alarm."""
    yield AlarmRule(
        name="too-many-runaway-devices",
        meaning="More devices exceed their rate limits than are held back at once. "
        "Read fleet.alerts for what they have in common.",
        metric=_metric(JobMetric.RUNAWAY_DEVICES_LEFT, job=FLEET_WATCH),
    )
    yield AlarmRule(
        name="flow-has-few-devices",
        meaning="A flow received from fewer devices in its last hour than usual for that hour of "
        "the week. fleet.alerts names the flow and its owner.",
        metric=_metric(
            JobMetric.LOW_COVERAGE_FLOWS, job=FLEET_WATCH, minutes=2 * _PUBLISHED_MINUTES
        ),
    )
    yield AlarmRule(
        name="flow-parks-much",
        meaning="More of a flow's messages of its last hour are parked than usual. "
        "fleet.alerts names the flow and its owner, who should look at the parser.",
        metric=_metric(
            JobMetric.MUCH_PARKED_FLOWS, job=FLEET_WATCH, minutes=2 * _PUBLISHED_MINUTES
        ),
    )
    for tables in LakeTables:
        yield AlarmRule(
            name=f"lake-{tables}-is-late",
            meaning=f"The lake's {tables} tables are over {LAKE_LAG_S_MAX} s behind their topics. "
            "Read the slow application's log for `a query failed`.",
            metric=_metric(JobMetric.LAKE_LAG_SECONDS, job=lake_job(tables)),
            threshold=LAKE_LAG_S_MAX,
            periods=3,
            silence_alarms=True,
        )


def _metric(metric: JobMetric, *, job: str, minutes: int = _PUBLISHED_MINUTES) -> cloudwatch.Metric:
    return our_metric(metric, {Dimension.JOB: job}, statistic="Maximum", minutes=minutes)
