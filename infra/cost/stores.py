"""What stores messages: brokers, their disks, traffic between zones, and S3 for large bodies."""

import math
from collections.abc import Iterator
from typing import Final

from fleetlane.events.lanes import Lane
from fleetlane.events.topics import RawTopic, canonical_topic, topic_settings
from infra.cost.figures import Figures, Line
from infra.cost.scenario import DAY_S, DAYS_A_MONTH, GB, HOURS_A_MONTH, Scenario, Traffic

_DAY_MS: Final = 24 * 60 * 60 * 1000
_KIB: Final = 1024
_MIB: Final = 1 << 20
_ZONES: Final = 3
_READS_OF_RAW: Final = 2
"""By the lane's job and by fleet_metadata."""


def store_lines(scenario: Scenario, figures: Figures) -> Iterator[Line]:
    """Brokers and disks exist before the first message; more are added as traffic needs them."""
    yield _brokers(scenario, figures)
    yield from _disks(scenario, figures)
    for lane, traffic in scenario.traffic.items():
        yield _between_zones(lane, traffic, figures)
        yield _payloads(scenario, lane, traffic, figures)


def _brokers(scenario: Scenario, figures: Figures) -> Line:
    broker_type = scenario.stage.broker_type
    assert broker_type is not None, "only a stage in AWS has a bill"
    size = broker_type.replace(".", "_")
    bytes_a_day = sum(
        traffic.messages_a_day * (_raw_bytes(traffic, figures) + _output_bytes(traffic, figures))
        for traffic in scenario.traffic.values()
    )
    peak_mib_per_s = bytes_a_day / DAY_S * scenario.peak / _MIB
    busy = peak_mib_per_s / figures.measure(f"broker_mib_per_s_{size}")
    at_least = scenario.stage.broker_count
    needed = max(at_least, math.ceil(busy / _ZONES) * _ZONES)
    usd = figures.usd(f"broker_hour_{size}", HOURS_A_MONTH)
    return Line(
        component="MSK: brokers", fixed_usd=usd * at_least, growing_usd=usd * (needed - at_least)
    )


def _disks(scenario: Scenario, figures: Figures) -> Iterator[Line]:
    """What is kept beyond the disks that the stage has is shared by what each lane keeps."""
    stage = scenario.stage
    provisioned = stage.broker_count * stage.broker_storage_gib
    share = figures.measure("disk_filled_share")
    kept = {
        lane: _kept_bytes(lane, traffic, figures) * stage.topic_replication / (1 << 30) / share
        for lane, traffic in scenario.traffic.items()
    }
    usd = figures.usd("broker_storage_gb_month")
    yield Line(component="MSK: disks", fixed_usd=usd * provisioned)
    all_kept = sum(kept.values())
    more = max(0.0, all_kept - provisioned)
    for lane, gib in kept.items():
        yield Line(component="MSK: disks", lane=lane, growing_usd=usd * more * gib / all_kept)


def _between_zones(lane: Lane, traffic: Traffic, figures: Figures) -> Line:
    """Two of three clients reach a leader in another zone. Replication is free."""
    raw = _raw_bytes(traffic, figures)
    travelled = raw * (1 + _READS_OF_RAW) + _output_bytes(traffic, figures)
    gigabytes = travelled * traffic.messages_a_month * (1 - 1 / _ZONES) / GB
    usd = figures.usd("cross_zone_gb", gigabytes)
    return Line(component="Between zones", lane=lane, growing_usd=usd)


def _payloads(scenario: Scenario, lane: Lane, traffic: Traffic, figures: Figures) -> Line:
    """One PUT, one GET, and the storage until the TTL."""
    if not traffic.is_by_reference:
        return Line(component="S3: large bodies", lane=lane)
    months = scenario.stage.payload_ttl_days / DAYS_A_MONTH
    stored = figures.usd("s3_gb_month", traffic.body_kib * _KIB / GB * months)
    a_message = figures.usd("s3_put") + figures.usd("s3_get") + stored
    usd = a_message * traffic.messages_a_month
    return Line(component="S3: large bodies", lane=lane, growing_usd=usd)


def _kept_bytes(lane: Lane, traffic: Traffic, figures: Figures) -> float:
    """What one copy of a lane's records takes once the first ones expire."""
    raw_days = topic_settings(str(RawTopic(lane=lane))).retention_ms / _DAY_MS
    output_days = topic_settings(canonical_topic("any")).retention_ms / _DAY_MS
    raw, output = _raw_bytes(traffic, figures), _output_bytes(traffic, figures)
    return traffic.messages_a_day * (raw * raw_days + output * output_days)


def _raw_bytes(traffic: Traffic, figures: Figures) -> float:
    body_kib = 0 if traffic.is_by_reference else traffic.body_kib
    kib = body_kib + figures.measure("envelope_kib")
    return kib * _KIB * figures.measure("raw_compressed_share")


def _output_bytes(traffic: Traffic, figures: Figures) -> float:
    events_kib = traffic.body_kib * figures.measure("canonical_kib_per_body_kib")
    kib = events_kib + figures.measure("metadata_kib")
    return kib * _KIB * figures.measure("output_compressed_share")
