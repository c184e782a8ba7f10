"""A self-hosted edge on Fargate behind a load balancer: from which rate it is cheaper."""

import math
from typing import Final

from fleetlane.events.lanes import Lane
from infra.cost.edge import accepted_line_bytes, edge_lines
from infra.cost.figures import Figures
from infra.cost.scenario import HOURS_A_MONTH, Scenario

REPLACED: Final = (
    "API Gateway",
    "Lambda: ingest",
    "Lambda: authorizer",
    "CloudWatch: logs",
)

_TASK_VCPUS: Final = 1
_TASK_GIB: Final = 2
_CONNECTIONS_A_CAPACITY_UNIT: Final = 25
_KIB_A_CAPACITY_UNIT: Final = 1e6 / 3600
"""A second: a unit is 1 GB an hour."""

_HALVINGS: Final = 60


def gateway_usd(scenario: Scenario, figures: Figures) -> float:
    """A month of what a self-hosted edge would replace."""
    lines = edge_lines(scenario, figures)
    return sum(line.growing_usd for line in lines if line.component in REPLACED)


def self_hosted_usd(scenario: Scenario, figures: Figures) -> float:
    """A month of tasks, the balancer, and the one line that is still logged of a message.

    A device opens a connection for each message: the most expensive case.
    """
    messages_per_s = scenario.messages_a_month / (HOURS_A_MONTH * 3600)
    kib_per_s = sum(one.messages_a_month * one.body_kib for one in scenario.traffic.values()) / (
        HOURS_A_MONTH * 3600
    )
    units = max(messages_per_s / _CONNECTIONS_A_CAPACITY_UNIT, kib_per_s / _KIB_A_CAPACITY_UNIT)
    hour_usd = (
        _tasks(messages_per_s * scenario.peak, figures) * _task_hour_usd(figures)
        + figures.usd("balancer_hour")
        + figures.usd("balancer_capacity_hour", units)
    )
    logged_gb = accepted_line_bytes(figures) * scenario.messages_a_month / 1e9
    return hour_usd * HOURS_A_MONTH + figures.usd("log_gb", logged_gb)


def break_even_messages_per_s(scenario: Scenario, figures: Figures) -> float:
    """The mean rate above which a self-hosted edge is cheaper, with the same sizes and lanes.

    The slow lane's messages are counted as standard ones, so that its limit does not apply.
    """
    one = _one_a_second(scenario)
    low, high = 0.001, 10_000.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        at = one.with_messages(middle)
        is_cheaper = self_hosted_usd(at, figures) < gateway_usd(at, figures)
        low, high = (low, middle) if is_cheaper else (middle, high)
    return high


def _one_a_second(scenario: Scenario) -> Scenario:
    return scenario.in_one_lane(Lane.STANDARD, messages_a_day=24 * 60 * 60)


def _tasks(messages_per_s: float, figures: Figures) -> int:
    busy_vcpus = messages_per_s * figures.measure("fargate_cpu_us") / 1e6
    needed = math.ceil(busy_vcpus / _TASK_VCPUS / figures.measure("worker_busy_share"))
    return max(int(figures.measure("fargate_tasks_min")), needed)


def _task_hour_usd(figures: Figures) -> float:
    memory = figures.usd("fargate_gb_hour", _TASK_GIB)
    return figures.usd("fargate_vcpu_hour", _TASK_VCPUS) + memory
