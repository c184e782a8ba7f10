"""What devices call: API Gateway and the functions, or a self-hosted edge in their place."""

import math
from collections.abc import Mapping
from typing import Final

from fleetlane.events.lanes import Lane
from infra.cost.scenario import DAY_S, GB, HOURS_A_MONTH, KIB, Scenario, Traffic
from infra.stages import TRACED_SHARE, Api

_FULL_CPU_MIB: Final = 1_769  # the memory at which Lambda gives a whole vCPU
_EVENT_BYTES: Final = 26  # what CloudWatch adds to each line of a log
_HTTP_REQUEST_KIB: Final = 512  # the HTTP API counts a request for each such part of a body
IOT_KIB_MAX: Final = 128
_IOT_PART_BYTES: Final = 5_000
_SELF_HOSTED: Final = ("API Gateway", "Lambda: ingest", "Lambda: authorizer", "CloudWatch: logs")
_TASK_VCPUS: Final = 1
_TASK_GIB: Final = 2
_CONNECTIONS_A_CAPACITY_UNIT: Final = 25
_KIB_A_CAPACITY_UNIT: Final = 1e6 / 3600  # a second: a unit is 1 GB an hour
_RATE_MAX: Final = 10_000


def edge_usd(at: Scenario, lane: Lane) -> Mapping[str, float]:
    """What one message costs before it is in Kafka, by component."""
    misses = 1 - at.authorizer_hits
    log_bytes = accepted_line_bytes(at) + at.measure("access_line_bytes") + _EVENT_BYTES
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
        "CloudWatch: logs": at.usd("log_gb", log_bytes / GB),
        "Answers to devices": at.usd("data_out_gb", at.measure("answer_bytes") / GB),
        "Firewall": at.usd("firewall_request") * at.stage.has_firewall,
        "X-Ray": at.usd("trace", TRACED_SHARE) * at.stage.has_tracing,
    }


def _request_usd(at: Scenario, traffic: Traffic) -> float:
    """The mean of a request: tiers count all lanes together."""
    name, requests = f"api_request_{at.stage.api}", at.messages_a_month
    counted = math.ceil(traffic.body_kib / _HTTP_REQUEST_KIB) if at.stage.api is Api.HTTP else 1
    return counted * at.usd(name, requests) / requests


def accepted_line_bytes(at: Scenario) -> float:
    return at.measure("accepted_line_bytes") + _EVENT_BYTES


def iot_core_usd(at: Scenario, kib: float) -> float:
    """AWS's other way in, by list price: for each 5 KB a message, and a rule that puts it on."""
    parts = math.ceil(kib * KIB / _IOT_PART_BYTES)
    return parts * (at.usd("iot_message") + at.usd("iot_rule") + at.usd("iot_action"))


def gateway_usd(at: Scenario) -> float:
    """A month of what a self-hosted edge would replace."""
    return sum(
        edge_usd(at, lane)[component] * traffic.messages_a_month
        for lane, traffic in at.traffic.items()
        for component in _SELF_HOSTED
    )


def self_hosted_usd(at: Scenario) -> float:
    """A month of Fargate's tasks, the balancer, and the one line still logged of a message.

    A device opens a connection for each message: the most expensive case.
    """
    seconds = HOURS_A_MONTH * 3600
    messages_per_s = at.messages_a_month / seconds
    kib = sum(one.messages_a_month * one.body_kib for one in at.traffic.values())
    units = max(messages_per_s / _CONNECTIONS_A_CAPACITY_UNIT, kib / seconds / _KIB_A_CAPACITY_UNIT)
    busy_vcpus = messages_per_s * at.peak * at.measure("fargate_cpu_us") / 1e6
    needed = math.ceil(busy_vcpus / _TASK_VCPUS / at.measure("worker_busy_share"))
    task_usd = at.usd("fargate_vcpu_hour", _TASK_VCPUS) + at.usd("fargate_gb_hour", _TASK_GIB)
    hour_usd = max(int(at.measure("fargate_tasks_min")), needed) * task_usd
    hour_usd += at.usd("balancer_hour") + at.usd("balancer_capacity_hour", units)
    logged_gb = accepted_line_bytes(at) * at.messages_a_month / GB
    return hour_usd * HOURS_A_MONTH + at.usd("log_gb", logged_gb)


def break_even_messages_per_s(at: Scenario) -> int:
    """The mean rate from which a self-hosted edge is cheaper, with sizes of the standard lane."""
    rates = (
        (per_s, at.in_one_lane(Lane.STANDARD, messages_a_day=per_s * DAY_S))
        for per_s in range(1, _RATE_MAX)
    )
    return next((per_s for per_s, at in rates if self_hosted_usd(at) < gateway_usd(at)), _RATE_MAX)


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
