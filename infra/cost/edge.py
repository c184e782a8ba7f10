"""What devices call: API Gateway, the two functions, the registry, logs and answers."""

import math
from collections.abc import Iterator
from typing import Final

from infra.cost.figures import Figures, Line
from infra.cost.scenario import Scenario, Traffic

_FULL_CPU_MIB: Final = 1_769
"""The memory at which Lambda gives a whole vCPU."""

_EVENT_BYTES: Final = 26
"""What CloudWatch adds to each line of a log."""

_PLATFORM_LINES: Final = 3
_GB: Final = 1e9


def edge_lines(scenario: Scenario, figures: Figures) -> Iterator[Line]:
    """All of it grows with messages."""
    request_usd = api_request_usd(scenario, figures)
    misses = 1 - scenario.authorizer_hits
    for lane, traffic in scenario.traffic.items():
        a_message = {
            "API Gateway": request_usd,
            "Lambda: ingest": ingest_usd(scenario, traffic, figures),
            "Lambda: authorizer": misses * authorizer_usd(figures),
            "DynamoDB: registry": misses * figures.usd("dynamodb_read"),
            "CloudWatch: logs": logs_usd(scenario, figures),
            "Answers to devices": figures.usd("data_out_gb", figures.measure("answer_bytes") / _GB),
        }
        for component, usd in a_message.items():
            yield Line(component=component, lane=lane, growing_usd=usd * traffic.messages_a_month)


def api_request_usd(scenario: Scenario, figures: Figures) -> float:
    """The mean cost of a request: tiers count all lanes together."""
    messages = scenario.messages_a_month
    return figures.tiered_usd("api_request", messages) / messages


def ingest_usd(scenario: Scenario, traffic: Traffic, figures: Figures) -> float:
    """A call of ingest mostly waits: for Kafka, and for S3 where the body is large."""
    memory_mib = scenario.stage.ingest_memory_mib
    wait_ms = figures.measure("kafka_ack_ms")
    if traffic.is_by_reference:
        wait_ms += figures.measure("payload_put_ms")
        wait_ms += figures.measure("payload_put_ms_per_mib") * traffic.body_kib / 1024
    return _call_usd(memory_mib, figures.measure("ingest_cpu_us"), wait_ms, figures)


def authorizer_usd(figures: Figures) -> float:
    """A call of the authorizer."""
    return _call_usd(
        figures.measure("authorizer_memory_mib"),
        figures.measure("authorizer_cpu_us"),
        figures.measure("registry_read_ms"),
        figures,
    )


def logs_usd(scenario: Scenario, figures: Figures) -> float:
    """The log lines of one message, in both functions' logs and the API's."""
    calls = 1 + (1 - scenario.authorizer_hits)
    platform_bytes = figures.measure("platform_line_bytes") + _PLATFORM_LINES * _EVENT_BYTES
    access_bytes = figures.measure("access_line_bytes") + _EVENT_BYTES
    logged_bytes = accepted_line_bytes(figures) + access_bytes + calls * platform_bytes
    return figures.usd("log_gb", logged_bytes / _GB)


def accepted_line_bytes(figures: Figures) -> float:
    """Our own line of a message."""
    return figures.measure("accepted_line_bytes") + _EVENT_BYTES


def _call_usd(memory_mib: float, cpu_us: float, wait_ms: float, figures: Figures) -> float:
    """Lambda bills whole milliseconds; a function with less memory gets less CPU."""
    cpu_ms = cpu_us / 1000 * max(1.0, _FULL_CPU_MIB / memory_mib)
    billed_ms = math.ceil(figures.measure("lambda_overhead_ms") + cpu_ms + wait_ms)
    gb_seconds = memory_mib / 1024 * billed_ms / 1000
    return figures.usd("lambda_request") + figures.usd("lambda_gb_second", gb_seconds)
