"""What devices call: API Gateway and the functions, or a self-hosted edge in their place."""

import math
from collections.abc import Iterator
from typing import Final

from fleetlane.events.lanes import Lane
from infra.cost.figures import Figures, Line
from infra.cost.scenario import GB, HOURS_A_MONTH, Scenario, Traffic

_FULL_CPU_MIB: Final = 1_769
"""The memory at which Lambda gives a whole vCPU."""

_EVENT_BYTES: Final = 26
"""What CloudWatch adds to each line of a log."""

_PLATFORM_LINES: Final = 3
_SELF_HOSTED: Final = ("API Gateway", "Lambda: ingest", "Lambda: authorizer", "CloudWatch: logs")
_TASK_VCPUS: Final = 1
_TASK_GIB: Final = 2
_CONNECTIONS_A_CAPACITY_UNIT: Final = 25
_KIB_A_CAPACITY_UNIT: Final = 1e6 / 3600
"""A second: a unit is 1 GB an hour."""

_HALVINGS: Final = 60


def edge_lines(scenario: Scenario, figures: Figures) -> Iterator[Line]:
    """All of it grows with messages."""
    messages = scenario.messages_a_month
    # The mean of a request: tiers count all lanes together.
    request_usd = figures.tiered_usd("api_request", messages) / messages
    misses = 1 - scenario.authorizer_hits
    authorizer_usd = _call_usd(
        figures.measure("authorizer_memory_mib"),
        figures.measure("authorizer_cpu_us"),
        figures.measure("registry_read_ms"),
        figures,
    )
    platform_bytes = figures.measure("platform_line_bytes") + _PLATFORM_LINES * _EVENT_BYTES
    access_bytes = figures.measure("access_line_bytes") + _EVENT_BYTES
    logged_bytes = accepted_line_bytes(figures) + access_bytes + (1 + misses) * platform_bytes
    for lane, traffic in scenario.traffic.items():
        a_message = {
            "API Gateway": request_usd,
            "Lambda: ingest": _ingest_usd(scenario, traffic, figures),
            "Lambda: authorizer": misses * authorizer_usd,
            "DynamoDB: registry": misses * figures.usd("dynamodb_read"),
            "CloudWatch: logs": figures.usd("log_gb", logged_bytes / GB),
            "Answers to devices": figures.usd("data_out_gb", figures.measure("answer_bytes") / GB),
        }
        for component, usd in a_message.items():
            yield Line(component=component, lane=lane, growing_usd=usd * traffic.messages_a_month)


def accepted_line_bytes(figures: Figures) -> float:
    return figures.measure("accepted_line_bytes") + _EVENT_BYTES


def gateway_usd(scenario: Scenario, figures: Figures) -> float:
    lines = edge_lines(scenario, figures)
    return sum(line.growing_usd for line in lines if line.component in _SELF_HOSTED)


def self_hosted_usd(scenario: Scenario, figures: Figures) -> float:
    """A month of Fargate's tasks, the balancer, and the one line still logged of a message.

    A device opens a connection for each message: the most expensive case.
    """
    seconds = HOURS_A_MONTH * 3600
    messages_per_s = scenario.messages_a_month / seconds
    kib = sum(one.messages_a_month * one.body_kib for one in scenario.traffic.values())
    units = max(messages_per_s / _CONNECTIONS_A_CAPACITY_UNIT, kib / seconds / _KIB_A_CAPACITY_UNIT)
    busy_vcpus = messages_per_s * scenario.peak * figures.measure("fargate_cpu_us") / 1e6
    needed = math.ceil(busy_vcpus / _TASK_VCPUS / figures.measure("worker_busy_share"))
    task_usd = figures.usd("fargate_vcpu_hour", _TASK_VCPUS) + figures.usd(
        "fargate_gb_hour", _TASK_GIB
    )
    hour_usd = (
        max(int(figures.measure("fargate_tasks_min")), needed) * task_usd
        + figures.usd("balancer_hour")
        + figures.usd("balancer_capacity_hour", units)
    )
    logged_gb = accepted_line_bytes(figures) * scenario.messages_a_month / GB
    return hour_usd * HOURS_A_MONTH + figures.usd("log_gb", logged_gb)


def break_even_messages_per_s(scenario: Scenario, figures: Figures) -> float:
    """The mean rate above which a self-hosted edge is cheaper, with the same sizes and lanes.

    The slow lane's messages are counted as standard ones, so that its limit does not apply.
    """
    low, high = 0.001, 10_000.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        at = scenario.in_one_lane(Lane.STANDARD, messages_a_day=middle * 24 * 60 * 60)
        is_cheaper = self_hosted_usd(at, figures) < gateway_usd(at, figures)
        low, high = (low, middle) if is_cheaper else (middle, high)
    return high


def _ingest_usd(scenario: Scenario, traffic: Traffic, figures: Figures) -> float:
    """A call of ingest mostly waits: for Kafka, and for S3 where the body is large."""
    wait_ms = figures.measure("kafka_ack_ms")
    if traffic.is_by_reference:
        wait_ms += figures.measure("payload_put_ms")
        wait_ms += figures.measure("payload_put_ms_per_mib") * traffic.body_kib / 1024
    cpu_us = figures.measure("ingest_cpu_us")
    return _call_usd(scenario.stage.ingest_memory_mib, cpu_us, wait_ms, figures)


def _call_usd(memory_mib: float, cpu_us: float, wait_ms: float, figures: Figures) -> float:
    """Lambda bills whole milliseconds; a function with less memory gets less CPU."""
    cpu_ms = cpu_us / 1000 * max(1.0, _FULL_CPU_MIB / memory_mib)
    billed_ms = math.ceil(figures.measure("lambda_overhead_ms") + cpu_ms + wait_ms)
    gb_seconds = memory_mib / 1024 * billed_ms / 1000
    return figures.usd("lambda_request") + figures.usd("lambda_gb_second", gb_seconds)
