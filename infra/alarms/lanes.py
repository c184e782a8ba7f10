"""Alarms of the lanes and their applications: the fast lane's are the strictest."""

from collections.abc import Iterator
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
from infra.alarms.alarm import PUBLISHED_MINUTES, AlarmRule, OurMetrics, alarm, metric_of
from infra.constructs.jobs.restarts import KeptRunning
from infra.constructs.jobs.spark_applications import APPLICATION_PREFIX, LAKE_APPLICATION
from infra.stages import Stage

LAKE_LAG_S_MAX: Final = 3_600  # twelve of the lake's trigger intervals
ARCHIVE_LAG_S_MAX: Final = min(
    topic_settings(str(RawTopic(lane=lane))).retention_ms // 4_000 for lane in Lane
)
"""A quarter of the time for which the raw topics keep what the archive has not read yet."""

MINUTES_LATE_MAX: Final = {Lane.FAST: 2, Lane.STANDARD: 5, Lane.BULK: 15, Lane.SLOW: 15}
PARKED_PERCENT_MAX: Final = {Lane.FAST: 1, Lane.STANDARD: 5, Lane.BULK: 20, Lane.SLOW: 50}


def fleet_alarms(stage: Stage) -> Iterator[AlarmRule]:
    """One runaway device is held back and reported in ``fleet.alerts``; many raise an alarm."""
    ours = OurMetrics(stage)
    for kind, metric, minutes in (
        ("too-many-runaway-devices", JobMetric.RUNAWAY_DEVICES_LEFT, PUBLISHED_MINUTES),
        ("flow-has-few-devices", JobMetric.LOW_COVERAGE_FLOWS, 2 * PUBLISHED_MINUTES),
        ("flow-parks-much", JobMetric.MUCH_PARKED_FLOWS, 2 * PUBLISHED_MINUTES),
        ("flow-burns-its-budget", JobMetric.BURNING_FLOWS, 2 * PUBLISHED_MINUTES),
    ):
        yield alarm(kind, ours.of_job(metric, job=FLEET_WATCH, minutes=minutes))
    for tables in lake_tables(stage.raw_archive_days):
        yield alarm(
            "lake-{tables}-is-late",
            ours.of_job(JobMetric.LAKE_LAG_SECONDS, job=lake_job(tables)),
            {"tables": tables},
            threshold=ARCHIVE_LAG_S_MAX if tables is LakeTables.ARCHIVE else LAKE_LAG_S_MAX,
        )
    if stage.raw_archive_days:
        lacking = ours.of_job(JobMetric.UNARCHIVED_BODIES, job=lake_job(LakeTables.ARCHIVE))
        yield alarm("lake-archive-lacks-bodies", lacking)


def ledger_alarms(ours: OurMetrics) -> Iterator[AlarmRule]:
    """Of a message that is gone there is nothing to repair by itself: somebody must look."""
    for kind, metric, minutes in (
        ("message-is-missing", JobMetric.LEDGER_MISSING, PUBLISHED_MINUTES),
        ("accepted-did-not-land", JobMetric.LEDGER_NOT_LANDED, PUBLISHED_MINUTES),
        ("ledger-is-late", JobMetric.LEDGER_LAG_SECONDS, 20),
    ):
        yield alarm(kind, ours.of_job(metric, job=STANDING_LEDGER, minutes=minutes))


def lane_alarms(ours: OurMetrics, lane: Lane) -> Iterator[AlarmRule]:
    of = {"lane": lane}
    yield alarm(
        "{lane}-lane-is-late",
        ours.of_lane(LaneMetric.LAG_SECONDS, lane, statistic="Maximum"),
        of,
        threshold=LANE_LIMITS[lane].lag_alarm_s,
        periods=MINUTES_LATE_MAX[lane],
    )
    parked, most = _parked_percent(ours, lane), PARKED_PERCENT_MAX[lane]
    yield alarm("{lane}-lane-parks", parked, of, threshold=most)
    counted = [
        ("{lane}-parser-crashes", LaneMetric.CHILDREN_USED_UP, "Sum"),
        ("{lane}-parser-is-older", LaneMetric.BY_OLDER_PARSER, "Sum"),
        ("{lane}-jail-is-open", LaneMetric.JAIL_PROBLEMS, "Maximum"),
        ("{lane}-stream-is-blocked", LaneMetric.BLOCKED_STREAMS, "Maximum"),
    ]
    if lane in REAL_TIME_LANES:
        counted.append(("{lane}-lane-lacks-slots", LaneMetric.SURPLUS_PARTITIONS, "Maximum"))
    for kind, metric, statistic in counted:
        yield alarm(kind, ours.of_lane(metric, lane, statistic=statistic), of)


def application_alarms(ours: OurMetrics, kept: KeptRunning) -> Iterator[AlarmRule]:
    """A job that ends again and again makes no progress, however often it is started."""
    of = {"application": kept.application}
    ends = metric_of("AWS/Events", "Invocations", {"RuleName": kept.ended.rule_name}, minutes=30)
    yield alarm("{application}-job-restarts", ends, of)
    by = {Dimension.APPLICATION: f"{APPLICATION_PREFIX}{kept.application}"}
    for kind, metric, statistic, minutes in (
        ("query-restarts", ApplicationMetric.QUERY_RESTARTS, "Sum", 30),
        ("query-stalled", ApplicationMetric.STALLED_QUERIES, "Sum", 1),
        ("messages-expired-unread", ApplicationMetric.EXPIRED_UNREAD, "Maximum", 5),
        ("messages-expire-soon", ApplicationMetric.EXPIRING_UNREAD, "Minimum", 5),
    ):
        if kind == "query-stalled" and kept.application == LAKE_APPLICATION:
            continue  # none of its queries is watched for stalls
        watched = ours.of(metric, by, statistic=statistic, minutes=minutes)
        yield alarm(f"{{application}}-{kind}", watched, of)


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
