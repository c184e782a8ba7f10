"""What devices call: API Gateway and the functions."""

import math
from collections.abc import Mapping
from typing import Final

from fleetlane.events.lanes import Lane
from infra.cost.scenario import GB, KIB, Scenario, Traffic
from infra.stages import TRACED_SHARE, Api

_FULL_CPU_MIB: Final = 1_769  # the memory at which Lambda gives a whole vCPU
_EVENT_BYTES: Final = 26  # what CloudWatch adds to each line of a log
_HTTP_REQUEST_KIB: Final = 512  # the HTTP API counts a request for each such part of a body


def edge_usd(at: Scenario, lane: Lane) -> Mapping[str, float]:
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
