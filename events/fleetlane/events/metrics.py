"""Metrics of ours in CloudWatch: names and dimensions, as published and as alarms watch them."""

from enum import StrEnum
from typing import Final

from fleetlane.events.job_arguments import LakeTables

NAMESPACE: Final = "Fleetlane"
"""On a laptop; a stage has its own."""

FLEET_WATCH: Final = "fleet_watch"
STANDING_LEDGER: Final = "standing_ledger"
"""Values of ``job``; ``lake_job`` gives the others."""

NO_FLOW_STREAM: Final = "(none)"
"""The value of ``stream`` for all streams without a flow: devices invent names, we do not."""


class Dimension(StrEnum):
    """What a metric is reported by. Each metric has exactly those that its class names."""

    SERVICE = "service"
    STREAM = "stream"
    LANE = "lane"
    TAG = "tag"
    APPLICATION = "application"
    JOB = "job"


class Service(StrEnum):
    """The functions that publish metrics: the value of ``service``."""

    INGEST = "ingest"
    UPLOADS = "uploads"
    RESPOOL = "respool"


class FunctionMetric(StrEnum):
    """Published by a function, by ``service``; some by ``lane`` or problem ``tag`` besides."""

    ACCEPTED = "Accepted"
    """By ``lane``, and by ``stream`` and ``lane``, in the minute of the messages' arrival."""
    BODY_BYTES = "BodyBytes"
    REFUSED = "Refused"
    OVERRIDES_UNAVAILABLE = "OverridesUnavailable"
    FLOWS_UNAVAILABLE = "FlowsUnavailable"
    RECEIPTS_UNAVAILABLE = "ReceiptsUnavailable"
    ISSUED = "Issued"
    SWEPT = "Swept"
    RESPOOLED_RECORDS = "RespooledRecords"
    UNREADABLE_SPOOLED = "UnreadableSpooled"
    OLDEST_SPOOLED_SECONDS = "OldestSpooledSeconds"

    @property
    def unit(self) -> str:
        """Its name says it: what names none is a count."""
        return next((unit for unit in ("Bytes", "Seconds") if self.endswith(unit)), "Count")


class LaneMetric(StrEnum):
    """Published by a lane's parse job, by ``lane``; counts cover the time since the last report."""

    LAG_SECONDS = "LagSeconds"
    """The age of the oldest record that was not attempted before the last batch; 0 when idle.

    In real time, the longest that one waited since the last value.
    """
    PARSED = "Parsed"
    PARKED = "Parked"
    BY_OLDER_PARSER = "ByOlderParser"
    """Attempts by an older parser, because the one that the flow names cannot be used."""
    CHILDREN_USED_UP = "ChildrenUsedUp"
    """Messages deferred without an attempt, because their parser kills every child process."""
    CANARY_MS = "CanaryMs"
    """The slowest of the canary's last messages, from arrival to canonical. By the fleet watch."""
    JAIL_PROBLEMS = "JailProblems"
    """Parts of the parsers' jail that are missing or do not hold where the driver runs."""
    SURPLUS_PARTITIONS = "SurplusPartitions"
    """Partitions without a task slot, for which a lane runs in micro-batches, not in real time."""
    BLOCKED_STREAMS = "BlockedStreams"
    """Flows that halt on error and wait for an operator's decision."""


class ApplicationMetric(StrEnum):
    """Published by a Spark application, by ``application``."""

    EXPIRED_UNREAD = "ExpiredUnread"
    """Records that their topic's retention removed before a query read them."""
    EXPIRING_UNREAD = "ExpiringUnread"
    """Hours until the next such record; 72 where there is none for so long."""
    QUERY_RESTARTS = "QueryRestarts"
    """How often a query that is supervised ended, or could not be started, in the last minute."""
    STALLED_QUERIES = "StalledQueries"
    """Queries of a lane that had work and made no progress: ended, and started again."""


class JobMetric(StrEnum):
    """Published by the fleet watch, the lake and the standing ledger, by ``job``."""

    RUNAWAY_DEVICES_LEFT = "InsaneDevicesLeft"
    """Runaway devices that are not held back, because too many are held back already."""
    LOW_COVERAGE_FLOWS = "LowCoverageFlows"
    """Flows that received from fewer devices in the last hour than usual for that hour."""
    MUCH_PARKED_FLOWS = "MuchParkedFlows"
    """Flows with more parked messages in the last hour than usual."""
    BURNING_FLOWS = "BurningFlows"
    """Flows whose messages are late so often that their objective's budget will not last."""
    CANARY_MISSING = "CanaryMissing"
    """Messages of the canary that should be in the lake by now, and are not."""
    LAKE_LAG_SECONDS = "LakeLagSeconds"
    """Time since the lake's tables last held everything that their topics did."""
    UNARCHIVED_BODIES = "UnarchivedBodies"
    """Bodies by reference that S3 did not give to the raw archive, a batch that lacks any."""
    LEDGER_MISSING = "LedgerMissing"
    """Messages of the last day that landed, and neither have an outcome in the lake nor wait."""
    LEDGER_NOT_LANDED = "LedgerNotLanded"
    """Messages of the last day that were accepted, and are in no topic nor in the spool."""
    LEDGER_LAG_SECONDS = "LedgerLagSeconds"
    """Age of the newest positions of all queries up to which the ledger is complete."""


def lake_job(tables: LakeTables) -> str:
    """The value of ``job`` for the query that writes ``tables``, which is that query's name too."""
    return f"lake_{tables}"


def namespace_of(stage: str) -> str:
    """CloudWatch's namespace of all that is counted in a stage: two in an account share none."""
    return f"{NAMESPACE}/{stage}"
