"""Alarms of the lanes and their applications: the fast lane's are the strictest."""

from collections.abc import Iterator
from functools import partial
from typing import Final

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch

from fleetlane.events.job_arguments import LakeTables, lake_tables
from fleetlane.events.lanes import LANE_LIMITS, REAL_TIME_LANES, Lane
from fleetlane.events.metrics import (
    FLEET_WATCH,
    STANDING_LEDGER,
    ApplicationMetric,
    Dimension,
    JobMetric,
    LaneMetric,
    lake_job,
)
from fleetlane.events.topics import RawTopic, topic_settings
from infra.alarms.alarm import PUBLISHED_MINUTES, AlarmRule, OurMetrics, metric_of
from infra.constructs.jobs.restarts import KeptRunning
from infra.constructs.jobs.spark_applications import APPLICATION_PREFIX, LAKE_APPLICATION
from infra.stages import Stage

LAKE_LAG_S_MAX: Final = 3_600  # twelve of the lake's trigger intervals
LEDGER_LAG_S_MAX: Final = 3_600  # the ledger says nothing of what the lake has not read
ARCHIVE_LAG_S_MAX: Final = min(
    topic_settings(str(RawTopic(lane=lane))).retention_ms // 4_000 for lane in Lane
)
"""A quarter of the time for which the raw topics keep what the archive has not read yet."""

MINUTES_LATE_MAX: Final = {Lane.FAST: 2, Lane.STANDARD: 5, Lane.BULK: 15, Lane.SLOW: 15}
PARKED_PERCENT_MAX: Final = {Lane.FAST: 1, Lane.STANDARD: 5, Lane.BULK: 20, Lane.SLOW: 50}
OLDER_MINUTES: Final = 5
"""Workers that have not fetched the new parser yet use the old one for less than this."""
RESTARTS_MAX: Final = 3
QUERY_RESTARTS_MAX: Final = 1  # one alone may be an outage, or a blocking flow that halted
HOURS_LEFT_MIN: Final = 48
"""Two days before the first message expires, of the three that a lane has."""


def fleet_alarms(stage: Stage) -> Iterator[AlarmRule]:
    """One runaway device is held back and reported in ``fleet.alerts``; many raise an alarm."""
    ours = OurMetrics(stage)
    for kind, metric, minutes in (
        ("too-many-runaway-devices", JobMetric.RUNAWAY_DEVICES_LEFT, PUBLISHED_MINUTES),
        ("flow-has-few-devices", JobMetric.LOW_COVERAGE_FLOWS, 2 * PUBLISHED_MINUTES),
        ("flow-parks-much", JobMetric.MUCH_PARKED_FLOWS, 2 * PUBLISHED_MINUTES),
        ("flow-burns-its-budget", JobMetric.BURNING_FLOWS, 2 * PUBLISHED_MINUTES),
    ):
        yield AlarmRule(kind=kind, metric=ours.of_job(metric, job=FLEET_WATCH, minutes=minutes))
    for tables in lake_tables(stage.raw_archive_days):
        yield AlarmRule(
            kind="lake-{tables}-is-late",
            of={"tables": tables},
            metric=ours.of_job(JobMetric.LAKE_LAG_SECONDS, job=lake_job(tables)),
            threshold=ARCHIVE_LAG_S_MAX if tables is LakeTables.ARCHIVE else LAKE_LAG_S_MAX,
            periods=3,
            silence_alarms=True,
        )
    if stage.raw_archive_days:
        lacking = ours.of_job(JobMetric.UNARCHIVED_BODIES, job=lake_job(LakeTables.ARCHIVE))
        yield AlarmRule(kind="lake-archive-lacks-bodies", metric=lacking)


def ledger_alarms(ours: OurMetrics) -> Iterator[AlarmRule]:
    """Of a message that is gone there is nothing to repair by itself: somebody must look."""
    metric_of_job = partial(ours.of_job, job=STANDING_LEDGER)
    yield AlarmRule(kind="message-is-missing", metric=metric_of_job(JobMetric.LEDGER_MISSING))
    yield AlarmRule(kind="accepted-did-not-land", metric=metric_of_job(JobMetric.LEDGER_NOT_LANDED))
    lag = metric_of_job(JobMetric.LEDGER_LAG_SECONDS, minutes=20)
    late = partial(AlarmRule, threshold=LEDGER_LAG_S_MAX, periods=3, silence_alarms=True)
    yield late(kind="ledger-is-late", metric=lag)


def lane_alarms(ours: OurMetrics, lane: Lane) -> Iterator[AlarmRule]:
    """Missing data counts as late: the job does not run."""
    of = {"lane": lane}
    yield AlarmRule(
        kind="{lane}-lane-is-late",
        of=of,
        metric=ours.of_lane(LaneMetric.LAG_SECONDS, lane, statistic="Maximum"),
        threshold=LANE_LIMITS[lane].lag_alarm_s,
        periods=MINUTES_LATE_MAX[lane],
        silence_alarms=True,
    )
    parked, most = _parked_percent(ours, lane), PARKED_PERCENT_MAX[lane]
    yield AlarmRule(kind="{lane}-lane-parks", of=of, metric=parked, threshold=most, periods=5)
    counted = [
        ("{lane}-parser-crashes", LaneMetric.CHILDREN_USED_UP, "Sum", 1),
        ("{lane}-parser-is-older", LaneMetric.BY_OLDER_PARSER, "Sum", OLDER_MINUTES),
        ("{lane}-jail-is-open", LaneMetric.JAIL_PROBLEMS, "Maximum", 1),
        ("{lane}-stream-is-blocked", LaneMetric.BLOCKED_STREAMS, "Maximum", 1),
    ]
    if lane in REAL_TIME_LANES:
        counted.append(("{lane}-lane-lacks-slots", LaneMetric.SURPLUS_PARTITIONS, "Maximum", 1))
    for kind, metric, statistic, minutes in counted:
        counts = ours.of_lane(metric, lane, statistic=statistic)
        yield AlarmRule(kind=kind, of=of, metric=counts, periods=minutes)


def application_alarms(ours: OurMetrics, kept: KeptRunning) -> Iterator[AlarmRule]:
    """A job that ends again and again makes no progress, however often it is started."""
    of = {"application": kept.application}
    ends = metric_of("AWS/Events", "Invocations", {"RuleName": kept.ended.rule_name}, minutes=30)
    yield AlarmRule(kind="{application}-job-restarts", of=of, metric=ends, threshold=RESTARTS_MAX)
    by = {Dimension.APPLICATION: f"{APPLICATION_PREFIX}{kept.application}"}
    for kind, metric, statistic, minutes, threshold in (
        ("query-restarts", ApplicationMetric.QUERY_RESTARTS, "Sum", 30, QUERY_RESTARTS_MAX),
        ("query-stalled", ApplicationMetric.STALLED_QUERIES, "Sum", 1, 0),
        ("messages-expired-unread", ApplicationMetric.EXPIRED_UNREAD, "Maximum", 5, 0),
        ("messages-expire-soon", ApplicationMetric.EXPIRING_UNREAD, "Minimum", 5, HOURS_LEFT_MIN),
    ):
        if kind == "query-stalled" and kept.application == LAKE_APPLICATION:
            continue  # none of its queries is watched for stalls
        name, is_low = f"{{application}}-{kind}", statistic == "Minimum"
        watched = ours.of(metric, by, statistic=statistic, minutes=minutes)
        yield AlarmRule(kind=name, of=of, metric=watched, threshold=threshold, is_low=is_low)


def _parked_percent(ours: OurMetrics, lane: Lane) -> cloudwatch.MathExpression:
    return cloudwatch.MathExpression(
        expression="100 * parked / (parked + parsed)",
        using_metrics={
            "parked": ours.of_lane(LaneMetric.PARKED, lane),
            "parsed": ours.of_lane(LaneMetric.PARSED, lane),
        },
        period=Duration.minutes(1),
        label=f"parked, % {lane}",
    )
