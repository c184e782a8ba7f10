"""Where messages are kept: brokers and their disks, bodies in S3, and the raw archive."""

import math
from collections.abc import Mapping
from typing import Final

from fleetlane.events.lanes import Lane
from fleetlane.events.topics import RawTopic, canonical_topic, topic_settings
from infra.cost.scenario import DAY_S, DAYS_A_MONTH, GB, HOURS_A_MONTH, KIB, Scenario, Traffic

_DAY_MS: Final = DAY_S * 1000
_ZONES: Final = 3
_READS_OF_RAW: Final = 2
"""By the lane's job and by fleet_metadata; the raw archive's is one more."""


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
    raw_days = topic_settings(str(RawTopic(lane=lane))).retention_ms / _DAY_MS
    output_days = topic_settings(canonical_topic("any")).retention_ms / _DAY_MS
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
