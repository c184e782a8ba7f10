"""Alarms of a lane: the fast one's are the strictest."""

from collections.abc import Iterator
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch

from fleetlane.events.lanes import LANE_LIMITS, Lane
from infra.alarms.alarm import AlarmRule
from infra.alarms.lane_metrics import (
    BLOCKED_STREAMS,
    BY_OLDER_PARSER,
    CHILDREN_USED_UP,
    EXPIRED_UNREAD,
    LAG_SECONDS,
    NAMESPACE,
    PARKED,
    PARSED,
    lane_metric,
)
from infra.constructs.jobs.restarts import KeptRunning
from infra.constructs.jobs.spark_applications import APPLICATION_PREFIX


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneTolerance:
    """How long a lane may be too late, and how much of it may be parked, before it alarms."""

    minutes_late: int
    parked_percent: float


TOLERANCES: Final = MappingProxyType(
    {
        Lane.FAST: LaneTolerance(minutes_late=2, parked_percent=1),
        Lane.STANDARD: LaneTolerance(minutes_late=5, parked_percent=5),
        Lane.SLOW: LaneTolerance(minutes_late=15, parked_percent=50),
    }
)
OLDER_MINUTES: Final = 5
"""A worker that has not fetched the new one yet goes on with the old one for less."""
RESTARTS_MAX: Final = 3


def lane_alarms(lane: Lane) -> Iterator[AlarmRule]:
    """Too late, too much parked, a parser out of hand. Silence is late: the job does not run."""
    tolerance, lag_s_max = TOLERANCES[lane], LANE_LIMITS[lane].lag_alarm_s
    yield AlarmRule(
        name=f"{lane}-lane-is-late",
        meaning=f"Messages of the {lane} lane wait longer than {lag_s_max} s to be parsed.",
        metric=lane_metric(LAG_SECONDS, lane, statistic="Maximum"),
        threshold=lag_s_max,
        periods=tolerance.minutes_late,
        silence_alarms=True,
    )
    yield AlarmRule(
        name=f"{lane}-lane-parks",
        meaning=f"Over {tolerance.parked_percent} % of the {lane} lane's messages are parked.",
        metric=_parked_percent(lane),
        threshold=tolerance.parked_percent,
        periods=5,
    )
    yield AlarmRule(
        name=f"{lane}-parser-crashes",
        meaning=f"A parser of the {lane} lane kills its children: its messages go on untried.",
        metric=lane_metric(CHILDREN_USED_UP, lane),
        threshold=0,
    )
    yield AlarmRule(
        name=f"{lane}-parser-is-older",
        meaning=f"Messages of the {lane} lane are parsed by an older parser than their flow names.",
        metric=lane_metric(BY_OLDER_PARSER, lane),
        threshold=0,
        periods=OLDER_MINUTES,
    )
    yield AlarmRule(
        name=f"{lane}-stream-is-blocked",
        meaning=f"A blocking flow of the {lane} lane waits for an answer: it stands still.",
        metric=lane_metric(BLOCKED_STREAMS, lane, statistic="Maximum"),
        threshold=0,
    )


def restart_alarm(kept: KeptRunning) -> AlarmRule:
    """A job that ends again and again stands still, however often it is started."""
    restarts = cloudwatch.Metric(
        namespace="AWS/Events",
        metric_name="Invocations",
        dimensions_map={"RuleName": kept.ended.rule_name},
        statistic="Sum",
        period=Duration.minutes(30),
    )
    return AlarmRule(
        name=f"{kept.application}-job-restarts",
        meaning=f"The {kept.application} job ended more than {RESTARTS_MAX} times in 30 minutes.",
        metric=restarts,
        threshold=RESTARTS_MAX,
    )


def expired_alarm(application: str) -> AlarmRule:
    """What expired unread is lost to whoever waits for its events."""
    expired = cloudwatch.Metric(
        namespace=NAMESPACE,
        metric_name=EXPIRED_UNREAD,
        dimensions_map={"application": f"{APPLICATION_PREFIX}{application}"},
        statistic="Maximum",
        period=Duration.minutes(5),
    )
    return AlarmRule(
        name=f"{application}-messages-expired-unread",
        meaning=f"Messages expired before the {application} job read them.",
        metric=expired,
        threshold=0,
    )


def _parked_percent(lane: Lane) -> cloudwatch.MathExpression:
    return cloudwatch.MathExpression(
        expression="100 * parked / (parked + parsed)",
        using_metrics={
            "parked": lane_metric(PARKED, lane),
            "parsed": lane_metric(PARSED, lane),
        },
        period=Duration.minutes(1),
        label=f"parked, % {lane}",
    )
