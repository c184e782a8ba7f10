"""What the Spark jobs cost: workers that always run, checkpoints, and metrics."""

import dataclasses
import math
from collections.abc import Iterator, Mapping
from typing import Final

from fleetlane.events.job_arguments import (
    FleetMetadataArguments,
    FleetWatchArguments,
    JobArguments,
    LakeArguments,
    lake_tables,
)
from fleetlane.events.lake.tables import TABLES
from fleetlane.events.lanes import LANE_LIMITS, BulkCause, Lane
from infra.cost.archive import files_a_commit
from infra.cost.figures import Figures, Line
from infra.cost.scenario import HOURS_A_MONTH, Scenario
from infra.stages import Engine

WORKER_VCPUS: Final = 4
WORKER_GIB: Final = 16
"""A worker of either engine: Glue's G.1X, which is one DPU, and EMR's as we ask for it."""

_DRIVER: Final = 1
_MONTH_MS: Final = HOURS_A_MONTH * 60 * 60 * 1000
MINUTES_A_MONTH: Final = HOURS_A_MONTH * 60
"""Each lane, and each query of the lake, publishes its metrics this often."""

_WATCH_PUBLISHES_MINUTES: Final = 5


QUERIES: Final[Mapping[Lane, int]] = {
    Lane.FAST: 1,
    Lane.STANDARD: 1,
    Lane.BULK: len(BulkCause) + 1,
    Lane.SLOW: 2,
}
"""Of a lane: one a cause, and one of what exceeded its flow's budget."""


def job_lines(scenario: Scenario, figures: Figures) -> Iterator[Line]:
    """Mostly fixed cost: workers and triggers run at night too."""
    worker_usd = worker_hour_usd(scenario.stage.engine, figures) * HOURS_A_MONTH
    for lane in scenario.traffic:
        at_least = scenario.workers[lane]
        more = max(0, workers_needed(scenario, lane, figures) - at_least)
        yield Line(
            component="Spark: workers",
            lane=lane,
            fixed_usd=worker_usd * at_least,
            growing_usd=worker_usd * more,
        )
        puts_usd = QUERIES[lane] * checkpoints_usd(LANE_LIMITS[lane].trigger_ms, figures)
        yield Line(component="S3: checkpoints", lane=lane, fixed_usd=puts_usd)
        calls_usd = figures.usd("metrics_call", MINUTES_A_MONTH)
        yield Line(component="CloudWatch: lanes' metrics", lane=lane, fixed_usd=calls_usd)
    lake_usd = worker_usd * scenario.stage.lake_workers
    yield Line(component="Spark: workers", fixed_usd=lake_usd)
    queries = lake_tables(scenario.stage.raw_archive_days)
    lake_ms = _default(LakeArguments, "lake_trigger_ms")
    no_lanes_ms = (
        _default(FleetMetadataArguments, "metadata_trigger_ms"),
        _default(FleetWatchArguments, "watch_trigger_ms"),
        *(lake_ms for _ in queries),
    )
    # Each batch commits to each of its tables; `hourly` is counted as if it did too, `repeats`
    # as if it never did.
    puts = figures.measure("puts_per_commit") * (len(TABLES) - 1) + files_a_commit(scenario)
    commits = puts * batches_a_month(lake_ms, figures)
    calls = MINUTES_A_MONTH * (len(queries) + 1 / _WATCH_PUBLISHES_MINUTES)
    fixed_usd = {
        "S3: checkpoints": sum(checkpoints_usd(every_ms, figures) for every_ms in no_lanes_ms),
        "S3: the lake's commits": figures.usd("s3_put", commits),
        "CloudWatch: metrics of lake and watch": figures.usd("metrics_call", calls),
    }
    for component, usd in fixed_usd.items():
        yield Line(component=component, fixed_usd=usd)


def batches_a_month(trigger_ms: int, figures: Figures) -> float:
    """Of a query that always has messages."""
    return _MONTH_MS / max(trigger_ms, figures.measure("batch_floor_ms"))


def checkpoints_usd(trigger_ms: int, figures: Figures, *, is_async_at_0: bool = True) -> float:
    """A month's checkpoints of one query; at trigger 0 they are written beside its batches."""
    is_async = trigger_ms == 0 and is_async_at_0
    every_ms = int(figures.measure("async_checkpoint_ms")) if is_async else trigger_ms
    puts = figures.measure("puts_per_checkpoint") * batches_a_month(every_ms, figures)
    return figures.usd("s3_put", puts)


def worker_hour_usd(engine: Engine, figures: Figures) -> float:
    """One worker; the driver's costs the same."""
    if engine is Engine.GLUE:
        return figures.usd("glue_dpu_hour")
    memory = figures.usd("emr_gb_hour", WORKER_GIB)
    return figures.usd("emr_vcpu_hour", WORKER_VCPUS) + memory


def workers_needed(scenario: Scenario, lane: Lane, figures: Figures) -> int:
    """The driver's and as many as the peak keeps busy, at least one."""
    traffic = scenario.traffic[lane]
    cpu_us = figures.measure("parse_cpu_us_per_kib") * max(1, traffic.body_kib)
    busy_vcpus = traffic.messages_per_s * cpu_us / 1e6
    if lane is Lane.STANDARD:
        messages_per_s = sum(one.messages_per_s for one in scenario.traffic.values())
        busy_vcpus += messages_per_s * figures.measure("metadata_cpu_us") / 1e6
    of_worker = WORKER_VCPUS * figures.measure("worker_busy_share")
    return _DRIVER + max(1, math.ceil(busy_vcpus * scenario.peak / of_worker))


def _default(arguments: type[JobArguments], name: str) -> int:
    (field,) = (one for one in dataclasses.fields(arguments) if one.name == name)
    value = field.default
    assert isinstance(value, int), f"{name} has a default"
    return value
