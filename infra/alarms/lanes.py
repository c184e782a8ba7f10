"""Alarms of the lanes and their applications: the fast lane's are the strictest."""

from collections.abc import Iterator
from types import MappingProxyType
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
from infra.constructs.jobs.spark_applications import APPLICATION_PREFIX
from infra.stages import Stage

LAKE_LAG_S_MAX: Final = 3_600
"""Twelve of the lake's trigger intervals."""

LEDGER_LAG_S_MAX: Final = 3_600
"""The ledger says nothing of what the lake has not read."""

ARCHIVE_LAG_S_MAX: Final = min(
    topic_settings(str(RawTopic(lane=lane))).retention_ms // 4_000 for lane in Lane
)
"""A quarter of the time for which the raw topics keep what the archive has not read yet."""


def fleet_alarms(stage: Stage) -> Iterator[AlarmRule]:
    """One runaway device is held back and reported in ``fleet.alerts``; many raise an alarm."""
    ours = OurMetrics(stage)
    yield AlarmRule(
        name="too-many-runaway-devices",
        meaning="More devices exceed their rate limits than are held back at once. "
        "Read fleet.alerts for what they have in common.",
        metric=ours.of_job(JobMetric.RUNAWAY_DEVICES_LEFT, job=FLEET_WATCH),
    )
    yield AlarmRule(
        name="flow-has-few-devices",
        meaning="A flow received from fewer devices in its last hour than usual for that hour of "
        "the week. fleet.alerts names the flow and its owner.",
        metric=ours.of_job(
            JobMetric.LOW_COVERAGE_FLOWS, job=FLEET_WATCH, minutes=2 * PUBLISHED_MINUTES
        ),
    )
    yield AlarmRule(
        name="flow-parks-much",
        meaning="More of a flow's messages of its last hour are parked than usual. "
        "fleet.alerts names the flow and its owner, who should look at the parser.",
        metric=ours.of_job(
            JobMetric.MUCH_PARKED_FLOWS, job=FLEET_WATCH, minutes=2 * PUBLISHED_MINUTES
        ),
    )
    yield from _lake_alarms(stage)


def _lake_alarms(stage: Stage) -> Iterator[AlarmRule]:
    ours = OurMetrics(stage)
    for tables in lake_tables(stage.raw_archive_days):
        lag_s_max = ARCHIVE_LAG_S_MAX if tables is LakeTables.ARCHIVE else LAKE_LAG_S_MAX
        yield AlarmRule(
            name=f"lake-{tables}-is-late",
            meaning=f"The lake's {tables} tables are over {lag_s_max} s behind their topics. "
            "Read the lake application's log for `a query failed`.",
            metric=ours.of_job(JobMetric.LAKE_LAG_SECONDS, job=lake_job(tables)),
            threshold=lag_s_max,
            periods=3,
            silence_alarms=True,
        )
    if stage.raw_archive_days:
        yield AlarmRule(
            name="lake-archive-lacks-bodies",
            meaning="S3 did not give large bodies to the raw archive: their rows have none. Read "
            "the lake application's log for `cannot be archived`.",
            metric=ours.of_job(JobMetric.UNARCHIVED_BODIES, job=lake_job(LakeTables.ARCHIVE)),
        )


def ledger_alarms(ours: OurMetrics) -> Iterator[AlarmRule]:
    """Of a message that is gone there is nothing to repair by itself: somebody must look."""
    yield AlarmRule(
        name="message-is-missing",
        meaning="An accepted message has no outcome in the lake, and waits nowhere. "
        "`fleetlane ledger` and fleet.alerts name it, and say what became of its record.",
        metric=ours.of_job(JobMetric.LEDGER_MISSING, job=STANDING_LEDGER),
    )
    yield AlarmRule(
        name="accepted-did-not-land",
        meaning="Ingest accepted more messages than there are in the raw archive and the spool. "
        "`fleetlane ledger` says of which hour, stream and lane.",
        metric=ours.of_job(JobMetric.LEDGER_NOT_LANDED, job=STANDING_LEDGER),
    )
    yield AlarmRule(
        name="ledger-is-late",
        meaning=f"For over {LEDGER_LAG_S_MAX} s nobody can say whether messages are missing. "
        "Is the lake late too? Else read the lake application's log for `the standing ledger`.",
        metric=ours.of_job(JobMetric.LEDGER_LAG_SECONDS, job=STANDING_LEDGER),
        threshold=LEDGER_LAG_S_MAX,
        periods=3,
        silence_alarms=True,
    )


MINUTES_LATE_MAX: Final = MappingProxyType(
    {Lane.FAST: 2, Lane.STANDARD: 5, Lane.BULK: 15, Lane.SLOW: 15}
)
PARKED_PERCENT_MAX: Final = MappingProxyType(
    {Lane.FAST: 1, Lane.STANDARD: 5, Lane.BULK: 20, Lane.SLOW: 50}
)
OLDER_MINUTES: Final = 5
"""Workers that have not fetched the new parser yet use the old one for less than this."""
RESTARTS_MAX: Final = 3
QUERY_RESTARTS_MAX: Final = 1
"""One alone may be an outage, or a blocking flow that halted."""
HOURS_LEFT_MIN: Final = 48
"""Two days before the first message expires, of the three that a lane has."""


def lane_alarms(ours: OurMetrics, lane: Lane) -> Iterator[AlarmRule]:
    """Missing data counts as late: the job does not run."""
    lag_s_max, parked_percent_max = LANE_LIMITS[lane].lag_alarm_s, PARKED_PERCENT_MAX[lane]
    yield AlarmRule(
        name=f"{lane}-lane-is-late",
        meaning=f"Messages of the {lane} lane wait over {lag_s_max} s to be parsed, or its job "
        "reports nothing. Check on the dashboard whether it runs and keeps up.",
        metric=ours.of_lane(LaneMetric.LAG_SECONDS, lane, statistic="Maximum"),
        threshold=lag_s_max,
        periods=MINUTES_LATE_MAX[lane],
        silence_alarms=True,
    )
    yield AlarmRule(
        name=f"{lane}-lane-parks",
        meaning=f"Over {parked_percent_max} % of the {lane} lane's messages are parked. "
        "Find the reason and the stream: `fleetlane parked list`.",
        metric=_parked_percent(ours, lane),
        threshold=parked_percent_max,
        periods=5,
    )
    yield from _parser_alarms(ours, lane)
    yield AlarmRule(
        name=f"{lane}-stream-is-blocked",
        meaning=f"A flow of the {lane} lane halted on a message that it cannot parse, and waits "
        "for an operator. Decide with `fleetlane unblock`.",
        metric=ours.of_lane(LaneMetric.BLOCKED_STREAMS, lane, statistic="Maximum"),
    )
    if lane in REAL_TIME_LANES:
        yield AlarmRule(
            name=f"{lane}-lane-lacks-slots",
            meaning=f"The {lane} lane has more partitions than task slots, so it runs in "
            "micro-batches, not in real time. Add workers, or have fewer topics.",
            metric=ours.of_lane(LaneMetric.SURPLUS_PARTITIONS, lane, statistic="Maximum"),
        )


def _parser_alarms(ours: OurMetrics, lane: Lane) -> Iterator[AlarmRule]:
    yield AlarmRule(
        name=f"{lane}-parser-crashes",
        meaning=f"A parser of the {lane} lane crashes its processes; its messages go to the slow "
        "lane. The application's log names the parser.",
        metric=ours.of_lane(LaneMetric.CHILDREN_USED_UP, lane),
    )
    yield AlarmRule(
        name=f"{lane}-parser-is-older",
        meaning=f"Messages of the {lane} lane are parsed by an older parser than their flow names. "
        "The application's log says why the newer one cannot be used.",
        metric=ours.of_lane(LaneMetric.BY_OLDER_PARSER, lane),
        periods=OLDER_MINUTES,
    )
    yield AlarmRule(
        name=f"{lane}-jail-is-open",
        meaning=f"Parsers of the {lane} lane run without a part of their jail. The application's "
        "log names it: `the parsers' jail`.",
        metric=ours.of_lane(LaneMetric.JAIL_PROBLEMS, lane, statistic="Maximum"),
    )


def application_alarms(ours: OurMetrics, kept: KeptRunning) -> Iterator[AlarmRule]:
    """A job that ends again and again makes no progress, however often it is started."""
    by = {"RuleName": kept.ended.rule_name}
    yield AlarmRule(
        name=f"{kept.application}-job-restarts",
        meaning=f"The {kept.application} job ended over {RESTARTS_MAX} times in 30 minutes. "
        "Read the last exception in its log group.",
        metric=metric_of("AWS/Events", "Invocations", by, minutes=30),
        threshold=RESTARTS_MAX,
    )
    yield from _query_alarms(ours, kept.application)


def _query_alarms(ours: OurMetrics, application: str) -> Iterator[AlarmRule]:
    by = {Dimension.APPLICATION: f"{APPLICATION_PREFIX}{application}"}
    yield AlarmRule(
        name=f"{application}-query-restarts",
        meaning=f"A query of the {application} application ends again and again, or cannot be "
        "started; the others go on. The application's log names it: `is started again`.",
        metric=ours.of(ApplicationMetric.QUERY_RESTARTS, by, minutes=30),
        threshold=QUERY_RESTARTS_MAX,
    )
    yield AlarmRule(
        name=f"{application}-query-stalled",
        meaning=f"A query of the {application} application had work and made no progress; it "
        "was ended with its Python workers and started again. Did it go on? `fleetlane status`.",
        metric=ours.of(ApplicationMetric.STALLED_QUERIES, by),
    )
    yield AlarmRule(
        name=f"{application}-messages-expired-unread",
        meaning=f"Messages expired before the {application} job read them. Start its query "
        "with a new checkpoint, so that it reads what is left, and replay from the archive.",
        metric=ours.of(ApplicationMetric.EXPIRED_UNREAD, by, statistic="Maximum", minutes=5),
    )
    yield AlarmRule(
        name=f"{application}-messages-expire-soon",
        meaning=f"In under {HOURS_LEFT_MIN} hours messages expire that the {application} job "
        "has not read. Let it catch up, or raise its topics' retention; what expires must be "
        "replayed from the archive.",
        metric=ours.of(ApplicationMetric.EXPIRING_UNREAD, by, statistic="Minimum", minutes=5),
        threshold=HOURS_LEFT_MIN,
        is_low=True,
    )


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
