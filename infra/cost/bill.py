"""A month's bill, and what one message more costs: at the API and its functions, and behind."""

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from fleetlane.events.lanes import Lane
from infra.cost import backend
from infra.cost.scenario import GB, HOURS_A_MONTH, KIB, Scenario, Traffic
from infra.stages import TRACED_PER_S, TRACED_SHARE, Api

_ENDPOINTS: Final = 3
_FULL_CPU_MIB: Final = 1_769  # the memory at which Lambda gives a whole vCPU
_EVENT_BYTES: Final = 26  # what CloudWatch adds to each line of a log
_HTTP_REQUEST_KIB: Final = 512  # the HTTP API counts a request for each such part of a body


@dataclass(frozen=True, slots=True, kw_only=True)
class Bill:
    """A month, by component: what is paid without a single message, and what comes on top."""

    fixed: Mapping[str, float]
    growing: Mapping[str, float]

    @property
    def usd(self) -> float:
        return sum((*self.fixed.values(), *self.growing.values()))

    def of(self, component: str) -> tuple[float, float]:
        """What is fixed and what grows."""
        return self.fixed.get(component, 0.0), self.growing.get(component, 0.0)


def bill(at: Scenario) -> Bill:
    """Workers, brokers and disks exist before the first message; traffic may need more of them."""
    fixed, growing = defaultdict[str, float](float), defaultdict[str, float](float)
    beyond_disks, worker = backend.share_beyond_disks(at), backend.worker_usd(at)
    for lane, traffic in at.traffic.items():
        for component, usd in message_usd(at, lane).items():
            share = beyond_disks if component == "MSK: disks" else 1
            growing[component] += usd * traffic.messages_a_month * share
        more_workers = max(0, backend.workers_needed(at, lane) - at.stage.lane_workers[lane])
        growing["Spark: workers"] += worker * more_workers
        fixed["Spark: workers"] += worker * at.stage.lane_workers[lane]
    more_brokers = backend.brokers_needed(at) - at.stage.broker_count
    growing["MSK: brokers"] = backend.broker_usd(at) * more_brokers
    fixed["MSK: brokers"] = backend.broker_usd(at) * at.stage.broker_count
    lanes = (backend.lane_jobs_usd(at, lane) for lane in at.traffic)
    for part in (*lanes, _fixed_usd(at), backend.lake_jobs_usd(at)):
        for component, usd in part.items():
            fixed[component] += usd
    return Bill(fixed=fixed, growing=growing)


def message_usd(at: Scenario, lane: Lane) -> Mapping[str, float]:
    """What one message more costs while all disks are full, workers and brokers left aside."""
    return {**_edge_usd(at, lane), **backend.stored_usd(at, lane)}


def _edge_usd(at: Scenario, lane: Lane) -> Mapping[str, float]:
    """What one message costs before it is in Kafka, by component."""
    misses = 1 - at.authorizer_hits
    log_bytes = at.measure("accepted_line_bytes") + at.measure("access_line_bytes")
    authorizer_usd = _call_usd(
        at,
        memory_mib=at.measure("authorizer_memory_mib"),
        cpu_us=at.measure("authorizer_cpu_us"),
        wait_ms=at.measure("registry_read_ms"),
    )
    return {
        "API Gateway": _request_usd(at, at.traffic[lane]),
        "Lambda: ingest": _ingest_usd(at, at.traffic[lane]),
        "Lambda: authorizer": misses * authorizer_usd,
        "DynamoDB: registry": misses * at.usd("dynamodb_read"),
        "CloudWatch: logs": at.usd("log_gb", (log_bytes + 2 * _EVENT_BYTES) / GB),
        "Answers to devices": at.usd("data_out_gb", at.measure("answer_bytes") / GB),
        "Firewall": at.usd("firewall_request") * at.stage.has_firewall,
        "X-Ray": at.usd("trace", TRACED_SHARE) * at.stage.has_tracing,
    }


def _request_usd(at: Scenario, traffic: Traffic) -> float:
    """The mean of a request: tiers count all lanes together."""
    name, requests = f"api_request_{at.stage.api}", at.messages_a_month
    counted = math.ceil(traffic.body_kib / _HTTP_REQUEST_KIB) if at.stage.api is Api.HTTP else 1
    return counted * at.usd(name, requests) / requests


def _ingest_usd(at: Scenario, traffic: Traffic) -> float:
    """A call of ingest mostly waits: for Kafka, and for S3 where the body is large."""
    wait_ms = at.measure("kafka_ack_ms")
    if traffic.is_by_reference:
        wait_ms += at.measure("payload_put_ms")
        wait_ms += at.measure("payload_put_ms_per_mib") * traffic.body_kib / KIB
    cpu_us = at.measure("ingest_cpu_us")
    return _call_usd(at, memory_mib=at.stage.ingest_memory_mib, cpu_us=cpu_us, wait_ms=wait_ms)


def _call_usd(at: Scenario, *, memory_mib: float, cpu_us: float, wait_ms: float) -> float:
    """Lambda bills whole milliseconds; a function with less memory gets less CPU."""
    cpu_ms = cpu_us / 1000 * max(1.0, _FULL_CPU_MIB / memory_mib)
    billed_ms = math.ceil(at.measure("lambda_overhead_ms") + cpu_ms + wait_ms)
    gb_seconds = memory_mib / 1024 * billed_ms / 1000
    return at.usd("lambda_request") + at.usd("lambda_gb_second", gb_seconds)


def _fixed_usd(at: Scenario) -> Mapping[str, float]:
    """Disks, endpoints, metrics, alarms, keys: nothing of it grows with messages."""
    stage = at.stage
    endpoint_hours = _ENDPOINTS * len(stage.availability_zones) * HOURS_A_MONTH
    watching_usd = (
        at.usd("metric_month", at.measure("custom_metrics"))
        + at.usd("alarm_metric_month", at.measure("alarm_metrics"))
        + at.usd("dashboard_month")
    )
    streams = at.measure("stream_lane_metrics")
    kafka_metrics = stage.broker_count * at.measure("kafka_metrics_per_broker")
    provisioned_gib = stage.broker_count * stage.broker_storage_gib
    traces = TRACED_PER_S * HOURS_A_MONTH * 3600
    return {
        "Firewall": at.usd("firewall_month") * stage.has_firewall,
        "X-Ray": at.usd("trace", traces) * stage.has_tracing,
        "MSK: disks": at.usd("broker_storage_gb_month", provisioned_gib),
        "VPC endpoints": at.usd("endpoint_hour", endpoint_hours),
        "MSK: metrics by broker": at.usd("metric_month", kafka_metrics),
        "CloudWatch: metrics, alarms, dashboard": watching_usd,
        "CloudWatch: accepted messages by stream": at.usd("metric_month", streams),
        "KMS keys": at.usd("kms_key_month", at.measure("kms_keys")),
    }


def with_http(at: Scenario) -> Scenario:
    """The same behind the HTTP API, which has neither a firewall nor traces."""
    return at.on(api=Api.HTTP, has_firewall=False, has_tracing=False)
