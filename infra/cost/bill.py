"""A month's bill, and what one message more costs."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from fleetlane.events.lanes import Lane
from infra.cost import backend
from infra.cost.edge import edge_usd
from infra.cost.scenario import HOURS_A_MONTH, Scenario
from infra.stages import TRACED_PER_S, Api

_ENDPOINTS: Final = 3


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
        more_workers = max(0, backend.workers_needed(at, lane) - at.workers[lane])
        growing["Spark: workers"] += worker * more_workers
        fixed["Spark: workers"] += worker * at.workers[lane]
        _add(fixed, backend.lane_jobs_usd(at, lane))
    more_brokers = backend.brokers_needed(at) - at.stage.broker_count
    growing["MSK: brokers"] = backend.broker_usd(at) * more_brokers
    fixed["MSK: brokers"] = backend.broker_usd(at) * at.stage.broker_count
    _add(fixed, _fixed_usd(at))
    _add(fixed, backend.lake_jobs_usd(at))
    return Bill(fixed=fixed, growing=growing)


def _add(costs: dict[str, float], more: Mapping[str, float]) -> None:
    for component, usd in more.items():
        costs[component] += usd


def message_usd(at: Scenario, lane: Lane) -> Mapping[str, float]:
    """What one message more costs while all disks are full, workers and brokers left aside."""
    return {**edge_usd(at, lane), **backend.stored_usd(at, lane)}


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
