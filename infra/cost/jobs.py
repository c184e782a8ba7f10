"""What the Spark jobs cost: workers, checkpoints, commits and metrics, by day and by night."""

import dataclasses
import math
from collections.abc import Iterable, Mapping
from typing import Final

from fleetlane.events import job_arguments
from fleetlane.events.lake.tables import BUCKETS, TABLES
from fleetlane.events.lanes import LANE_LIMITS, BulkCause, Lane
from infra.cost.scenario import HOURS_A_MONTH, Scenario
from infra.stages import Engine

WORKER_VCPUS: Final = 4
WORKER_GIB: Final = 16
"""A worker of either engine: Glue's G.1X, which is one DPU, and EMR's as we ask for it."""

_DRIVER: Final = 1
_MONTH_MS: Final = HOURS_A_MONTH * 60 * 60 * 1000
_MINUTES_A_MONTH: Final = HOURS_A_MONTH * 60
"""Each lane, and each query of the lake, publishes its metrics this often."""

_WATCH_PUBLISHES_MINUTES: Final = 5
_QUERIES: Final[Mapping[Lane, int]] = {
    Lane.FAST: 1,
    Lane.STANDARD: 1,
    Lane.BULK: len(BulkCause) + 1,
    Lane.SLOW: 2,
}
"""Of a lane: one a cause, and one of what exceeded its flow's budget."""


def lane_jobs_usd(at: Scenario, lane: Lane) -> Mapping[str, float]:
    """A month of a lane's application, its workers apart."""
    puts_usd = _QUERIES[lane] * checkpoints_usd(at, LANE_LIMITS[lane].trigger_ms)
    calls_usd = at.usd("metrics_call", _MINUTES_A_MONTH)
    return {"S3: checkpoints": puts_usd, "CloudWatch: lanes' metrics": calls_usd}


def lake_jobs_usd(at: Scenario) -> Mapping[str, float]:
    """A month of the lake's application, and of fleet_metadata's checkpoints."""
    queries = job_arguments.lake_tables(at.stage.raw_archive_days)
    lake_ms = _default(job_arguments.LakeArguments, "lake_trigger_ms")
    triggers_ms: Iterable[int] = (
        _default(job_arguments.FleetMetadataArguments, "metadata_trigger_ms"),
        _default(job_arguments.FleetWatchArguments, "watch_trigger_ms"),
        *(lake_ms for _ in queries),
    )
    # Each batch commits to each of its tables; `hourly` is counted as if it did too, `repeats`
    # as if it never did. A commit to the archive writes a file a bucket besides.
    puts = at.measure("puts_per_commit") * (len(TABLES) - 1)
    puts += BUCKETS if at.stage.raw_archive_days else 0
    calls = _MINUTES_A_MONTH * (len(queries) + 1 / _WATCH_PUBLISHES_MINUTES)
    return {
        "Spark: workers": worker_usd(at) * at.stage.lake_workers,
        "S3: checkpoints": sum(checkpoints_usd(at, every_ms) for every_ms in triggers_ms),
        "S3: the lake's commits": at.usd("s3_put", puts * batches_a_month(at, lake_ms)),
        "CloudWatch: metrics of lake and watch": at.usd("metrics_call", calls),
    }


def batches_a_month(at: Scenario, trigger_ms: int) -> float:
    """Of a query that always has messages."""
    return _MONTH_MS / max(trigger_ms, at.measure("batch_floor_ms"))


def checkpoints_usd(at: Scenario, trigger_ms: int, *, is_async_at_0: bool = True) -> float:
    """A month's checkpoints of one query; at trigger 0 they are written beside its batches."""
    is_async = trigger_ms == 0 and is_async_at_0
    every_ms = int(at.measure("async_checkpoint_ms")) if is_async else trigger_ms
    return at.usd("s3_put", at.measure("puts_per_checkpoint") * batches_a_month(at, every_ms))


def worker_usd(at: Scenario) -> float:
    """One worker for a month; the driver's costs the same."""
    if at.stage.engine is Engine.GLUE:
        return at.usd("glue_dpu_hour", HOURS_A_MONTH)
    hour_usd = at.usd("emr_vcpu_hour", WORKER_VCPUS) + at.usd("emr_gb_hour", WORKER_GIB)
    return hour_usd * HOURS_A_MONTH


def workers_needed(at: Scenario, lane: Lane) -> int:
    """The driver's and as many as the peak keeps busy, at least one."""
    traffic = at.traffic[lane]
    cpu_us = at.measure("parse_cpu_us_per_kib") * max(1, traffic.body_kib)
    busy_vcpus = traffic.messages_per_s * cpu_us / 1e6
    if lane is Lane.STANDARD:
        messages_per_s = sum(one.messages_per_s for one in at.traffic.values())
        busy_vcpus += messages_per_s * at.measure("metadata_cpu_us") / 1e6
    of_worker = WORKER_VCPUS * at.measure("worker_busy_share")
    return _DRIVER + max(1, math.ceil(busy_vcpus * at.peak / of_worker))


def _default(arguments: type[job_arguments.JobArguments], name: str) -> int:
    (value,) = (one.default for one in dataclasses.fields(arguments) if one.name == name)
    assert isinstance(value, int), f"{name} has a default"
    return value
