"""What is behind the edge: brokers and disks, bodies in S3, the raw archive, and the Spark jobs."""

import math
from collections.abc import Mapping
from inspect import signature
from typing import Final

from fleetlane.events import job_arguments
from fleetlane.events.job_arguments import Engine
from fleetlane.events.lake.tables import BUCKETS, TABLES
from fleetlane.events.lanes import LANE_LIMITS, BulkCause, Lane
from fleetlane.events.times import DAY_MS
from fleetlane.events.topics import RawTopic, canonical_topic, topic_settings
from infra.cost.scenario import DAYS_A_MONTH, GB, HOURS_A_MONTH, KIB, Scenario, Traffic
from infra.stages import WORKER_CPUS, WORKER_MEMORY_GIB

_ZONES: Final = 3
_READS_OF_RAW: Final = 2  # by the lane's job and by fleet_metadata; the raw archive's is one more


def stored_usd(at: Scenario, lane: Lane) -> Mapping[str, float]:
    """What one message costs on full disks, on its way between zones, and in S3, by component."""
    traffic, archive_days = at.traffic[lane], at.stage.raw_archive_days
    # Two of three clients reach a leader in another zone. Replication is free.
    reads = _READS_OF_RAW + bool(archive_days)
    travelled = _raw_bytes(at, traffic) * (1 + reads) + _output_bytes(at, traffic)
    kept_gib_months = _kept_gib(at, lane) / traffic.messages_a_month
    bodies_usd = archive_usd = 0.0
    if traffic.is_by_reference:  # a PUT, a GET, and the storage until the TTL
        bodies_usd = at.usd("s3_put") + at.usd("s3_get")
        bodies_usd += _s3_usd(at, traffic.body_kib, at.stage.payload_ttl_days)
    if archive_days:  # a row for each message and, of a body by reference, a copy
        row_kib = (_inline_kib(traffic) + at.measure("envelope_kib")) * at.measure("archived_share")
        archive_usd = _s3_usd(at, row_kib, archive_days)
        if traffic.is_by_reference:
            archive_usd += at.usd("s3_put")
            archive_usd += _s3_usd(at, traffic.body_kib, at.stage.archived_body_days)
    return {
        "MSK: disks": at.usd("broker_storage_gb_month", kept_gib_months),
        "Between zones": at.usd("cross_zone_gb", travelled * (1 - 1 / _ZONES) / GB),
        "S3: large bodies": bodies_usd,
        "S3: raw archive": archive_usd,
    }


def share_beyond_disks(at: Scenario) -> float:
    """Of what is kept, the share for which the stage's disks would have to grow."""
    kept_gib = sum(_kept_gib(at, lane) for lane in at.traffic)
    return max(0.0, 1 - at.stage.broker_count * at.stage.broker_storage_gib / kept_gib)


def brokers_needed(at: Scenario) -> int:
    """At the peak; as many in each zone, and no fewer than the stage has."""
    bytes_per_s = sum(
        one.messages_per_s * (_raw_bytes(at, one) + _output_bytes(at, one))
        for one in at.traffic.values()
    )
    busy = bytes_per_s * at.peak / KIB**2 / at.measure(f"broker_mib_per_s_{_size(at)}")
    return max(at.stage.broker_count, math.ceil(busy / _ZONES) * _ZONES)


def broker_usd(at: Scenario) -> float:
    """One, for a month."""
    return at.usd(f"broker_hour_{_size(at)}", HOURS_A_MONTH)


def _size(at: Scenario) -> str:
    assert at.stage.broker_type is not None, "only a stage in AWS has a bill"
    return at.stage.broker_type.replace(".", "_")


def _kept_gib(at: Scenario, lane: Lane) -> float:
    """What a lane's records take on the disks of all replicas, once the first ones expire."""
    traffic = at.traffic[lane]
    raw_days = topic_settings(str(RawTopic(lane=lane))).retention_ms / DAY_MS
    output_days = topic_settings(canonical_topic("any")).retention_ms / DAY_MS
    kept = _raw_bytes(at, traffic) * raw_days + _output_bytes(at, traffic) * output_days
    copies = at.stage.topic_replication / at.measure("disk_filled_share")
    return traffic.messages_a_day * kept * copies / KIB**3


def _raw_bytes(at: Scenario, traffic: Traffic) -> float:
    kib = _inline_kib(traffic) + at.measure("envelope_kib")
    return kib * KIB * at.measure("raw_compressed_share")


def _output_bytes(at: Scenario, traffic: Traffic) -> float:
    events_kib = traffic.body_kib * at.measure("canonical_kib_per_body_kib")
    kib = events_kib + at.measure("metadata_kib")
    return kib * KIB * at.measure("output_compressed_share")


def _inline_kib(traffic: Traffic) -> float:
    return 0 if traffic.is_by_reference else traffic.body_kib


def _s3_usd(at: Scenario, kib: float, days: float) -> float:
    return at.usd("s3_gb_month", kib * KIB / GB * days / DAYS_A_MONTH)


_MONTH_MS: Final = HOURS_A_MONTH * 60 * 60 * 1000
_MINUTES_A_MONTH: Final = HOURS_A_MONTH * 60
"""Each lane, and each query of the lake, publishes its metrics this often."""

_WATCH_PUBLISHES_MINUTES: Final = 5
_QUERIES: Final = {Lane.FAST: 1, Lane.STANDARD: 1, Lane.BULK: len(BulkCause) + 1, Lane.SLOW: 2}
"""Of a lane: one a cause, and one of what exceeded its flow's budget."""


def lane_jobs_usd(at: Scenario, lane: Lane) -> Mapping[str, float]:
    """A month of a lane's application, its workers apart."""
    puts_usd = _QUERIES[lane] * checkpoints_usd(at, LANE_LIMITS[lane].trigger_ms)
    calls_usd = at.usd("metrics_call", _MINUTES_A_MONTH)
    return {"S3: checkpoints": puts_usd, "CloudWatch: lanes' metrics": calls_usd}


def lake_jobs_usd(at: Scenario) -> Mapping[str, float]:
    """A month of the lake's application, and of fleet_metadata's checkpoints."""
    queries = job_arguments.lake_tables(at.stage.raw_archive_days)
    lake_ms = at.stage.lake_trigger_ms
    triggers_ms = (
        signature(job_arguments.FleetMetadataArguments).parameters["metadata_trigger_ms"].default,
        signature(job_arguments.FleetWatchArguments).parameters["watch_trigger_ms"].default,
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


def checkpoints_usd(at: Scenario, trigger_ms: int) -> float:
    """A month's checkpoints of one query; at trigger 0 they are written beside its batches."""
    every_ms = trigger_ms or int(at.measure("async_checkpoint_ms"))
    return at.usd("s3_put", at.measure("puts_per_checkpoint") * batches_a_month(at, every_ms))


def worker_usd(at: Scenario) -> float:
    """One worker for a month; the driver's costs the same."""
    if at.stage.engine is Engine.GLUE:
        return at.usd("glue_dpu_hour", HOURS_A_MONTH)
    hour_usd = at.usd("emr_vcpu_hour", WORKER_CPUS) + at.usd("emr_gb_hour", WORKER_MEMORY_GIB)
    return hour_usd * HOURS_A_MONTH


def workers_needed(at: Scenario, lane: Lane) -> int:
    """The driver's and as many as the peak keeps busy, at least one."""
    traffic = at.traffic[lane]
    cpu_us = at.measure("parse_cpu_us_per_kib") * max(1, traffic.body_kib)
    busy_vcpus = traffic.messages_per_s * cpu_us / 1e6
    if lane is Lane.STANDARD:
        messages_per_s = sum(one.messages_per_s for one in at.traffic.values())
        busy_vcpus += messages_per_s * at.measure("metadata_cpu_us") / 1e6
    of_worker = WORKER_CPUS * at.measure("worker_busy_share")
    return 1 + max(1, math.ceil(busy_vcpus * at.peak / of_worker))
