"""A month's bill, its share for a message, and the effect of what would lower it."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from fleetlane.events.lanes import LANE_LIMITS, Lane
from fleetlane.events.topics import RawTopic, canonical_topic, topic_settings
from infra.cost.archive import archive_line
from infra.cost.edge import accepted_line_bytes, edge_lines, gateway_usd, self_hosted_usd
from infra.cost.figures import Figures, Line
from infra.cost.jobs import checkpoints_usd, job_lines, worker_hour_usd, workers_needed
from infra.cost.scenario import (
    DAY_S,
    DAYS_A_MONTH,
    GB,
    HOURS_A_MONTH,
    Scenario,
    Traffic,
    batched,
    with_engine,
)
from infra.stages import Engine

_DAY_MS: Final = 24 * 60 * 60 * 1000
_KIB: Final = 1024
_MIB: Final = 1 << 20
_ZONES: Final = 3
_READS_OF_RAW: Final = 2
"""By the lane's job and by fleet_metadata; the raw archive's is one more."""
MILLION: Final = 1_000_000
_ENDPOINTS: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Bill:
    """A month's lines, and the messages that they are paid for."""

    lines: tuple[Line, ...]
    messages: Mapping[Lane, float]

    @property
    def fixed_usd(self) -> float:
        return sum(line.fixed_usd for line in self.lines)

    @property
    def growing_usd(self) -> float:
        return sum(line.growing_usd for line in self.lines)

    @property
    def usd(self) -> float:
        return self.fixed_usd + self.growing_usd

    @property
    def usd_a_million(self) -> float:
        return self.usd / sum(self.messages.values()) * MILLION

    def lane_usd_a_million(self, lane: Lane) -> float:
        """A lane's own lines, and its messages' part of those that all lanes share."""
        share = self.messages[lane] / sum(self.messages.values())
        own = sum(line.usd for line in self.lines if line.lane is lane)
        shared = sum(line.usd for line in self.lines if line.lane is None)
        return (own + share * shared) / self.messages[lane] * MILLION

    def of_component(self, component: str) -> Line:
        lines = [line for line in self.lines if line.component == component]
        return Line(
            component=component,
            fixed_usd=sum(line.fixed_usd for line in lines),
            growing_usd=sum(line.growing_usd for line in lines),
        )


def bill(scenario: Scenario, figures: Figures) -> Bill:
    parts = (edge_lines, store_lines, job_lines, _fixed_lines)
    return Bill(
        lines=tuple(line for part in parts for line in part(scenario, figures)),
        messages={lane: one.messages_a_month for lane, one in scenario.traffic.items()},
    )


def _fixed_lines(scenario: Scenario, figures: Figures) -> Iterator[Line]:
    """Endpoints, metrics, alarms, keys: nothing of it grows with messages."""
    endpoint_hours = _ENDPOINTS * len(scenario.stage.availability_zones) * HOURS_A_MONTH
    watching_usd = (
        figures.usd("metric_month", figures.measure("custom_metrics"))
        + figures.usd("alarm_metric_month", figures.measure("alarm_metrics"))
        + figures.usd("dashboard_month")
    )
    fixed_usd = {
        "VPC endpoints": figures.usd("endpoint_hour", endpoint_hours),
        "MSK: metrics by topic": figures.usd("metric_month", kafka_metrics(scenario, figures)),
        "CloudWatch: metrics, alarms, dashboard": watching_usd,
        "CloudWatch: accepted messages by stream": figures.usd(
            "metric_month", figures.measure("stream_lane_metrics")
        ),
        "KMS keys": figures.usd("kms_key_month", figures.measure("kms_keys")),
    }
    for component, usd in fixed_usd.items():
        yield Line(component=component, fixed_usd=usd)


def kafka_metrics(scenario: Scenario, figures: Figures) -> float:
    """What MSK writes to CloudWatch beyond its free metrics."""
    of_topics = figures.measure("topics") * figures.measure("kafka_metrics_per_topic")
    of_broker = figures.measure("kafka_metrics_per_broker") + of_topics
    return scenario.stage.broker_count * of_broker


def store_lines(scenario: Scenario, figures: Figures) -> Iterator[Line]:
    """Brokers and disks exist before the first message; more are added as traffic needs them."""
    yield _brokers(scenario, figures)
    yield from _disks(scenario, figures)
    for lane, traffic in scenario.traffic.items():
        yield _between_zones(scenario, lane, traffic, figures)
        yield _payloads(scenario, lane, traffic, figures)
        yield archive_line(scenario, lane, traffic, figures)


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


def _between_zones(scenario: Scenario, lane: Lane, traffic: Traffic, figures: Figures) -> Line:
    """Two of three clients reach a leader in another zone. Replication is free."""
    raw = _raw_bytes(traffic, figures)
    reads = _READS_OF_RAW + bool(scenario.stage.raw_archive_days)
    travelled = raw * (1 + reads) + _output_bytes(traffic, figures)
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


READINGS_A_MESSAGE: Final = 10


def savings(scenario: Scenario, figures: Figures) -> Iterator[tuple[str, float, float]]:
    """The large ones, each on its own: its name, and what is paid in a month now and then."""
    in_batches = batched(scenario, READINGS_A_MESSAGE)
    yield (
        f"Batching: a device sends {READINGS_A_MESSAGE} readings in one message",
        bill(scenario, figures).usd,
        bill(in_batches, figures).usd,
    )
    yield (
        "A self-hosted edge on Fargate instead of API Gateway and Lambda",
        gateway_usd(scenario, figures),
        self_hosted_usd(scenario, figures),
    )
    on_glue, on_emr = (with_engine(scenario, one) for one in (Engine.GLUE, Engine.EMR))
    yield "EMR Serverless instead of Glue", bill(on_glue, figures).usd, bill(on_emr, figures).usd
    needed = {lane: workers_needed(scenario, lane, figures) for lane in scenario.traffic}
    running = {lane: max(scenario.workers[lane], n) for lane, n in needed.items()}
    few, many = sum(needed.values()), sum(running.values())
    worker_usd = worker_hour_usd(scenario.stage.engine, figures) * HOURS_A_MONTH
    yield (
        f"{few} workers, as many as the CPU load needs, instead of {many}",
        worker_usd * many,
        worker_usd * few,
    )
    fast_usd, slow_usd = (
        checkpoints_usd(LANE_LIMITS[lane].trigger_ms, figures) for lane in (Lane.FAST, Lane.SLOW)
    )
    yield "The fast lane at the slow lane's trigger", fast_usd, slow_usd
    by_broker = scenario.stage.broker_count * figures.measure("kafka_metrics_per_broker")
    yield (
        "MSK's metrics by broker instead of by topic",
        figures.usd("metric_month", kafka_metrics(scenario, figures)),
        figures.usd("metric_month", by_broker),
    )
    logged_gb = accepted_line_bytes(figures) * scenario.messages_a_month / GB
    yield "No line in the log for each accepted message", figures.usd("log_gb", logged_gb), 0.0
    receipts_usd = receipt_usd(figures) * scenario.messages_a_month
    yield "Receipts, if all streams opted in", 0.0, receipts_usd


def receipt_usd(figures: Figures) -> float:
    """A message's: read before it lands, and written after."""
    return figures.usd("dynamodb_read") + figures.usd("dynamodb_write")
