"""A month's bill, its share for a message, and the effect of what would lower it."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from fleetlane.events.lanes import Lane
from infra.cost import backend
from infra.cost.edge import accepted_line_bytes, edge_usd
from infra.cost.scenario import GB, HOURS_A_MONTH, MILLION, Scenario
from infra.stages import TRACED_PER_S, Api, Engine

_ENDPOINTS: Final = 3
_READINGS_A_MESSAGE: Final = 10


type _Costs = Mapping[tuple[str, Lane | None], float]
"""By component and lane. Without a lane all lanes share it, by their messages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bill:
    """A month: what is paid without a single message, what comes on top, and how many they are."""

    fixed: _Costs
    growing: _Costs
    messages: Mapping[Lane, float]

    @property
    def usd(self) -> float:
        return sum(self.of())

    def of(self, component: str | None = None) -> tuple[float, float]:
        """What is fixed and what grows, of one component or of all."""
        fixed_usd, growing_usd = (
            sum(usd for (name, _), usd in costs.items() if component in (None, name))
            for costs in (self.fixed, self.growing)
        )
        return fixed_usd, growing_usd

    def lane_usd_a_million(self, lane: Lane) -> float:
        """A lane's own costs, and its messages' part of those that all lanes share."""
        share = {lane: 1.0, None: self.messages[lane] / sum(self.messages.values())}
        costs = (*self.fixed.items(), *self.growing.items())
        usd = sum(share.get(of_lane, 0.0) * usd for (_, of_lane), usd in costs)
        return usd / self.messages[lane] * MILLION


def bill(at: Scenario) -> Bill:
    """Workers, brokers and disks exist before the first message; traffic may need more of them."""
    fixed, growing = defaultdict[Any, float](float), defaultdict[Any, float](float)
    beyond_disks, worker = backend.share_beyond_disks(at), backend.worker_usd(at)
    for lane, traffic in at.traffic.items():
        for component, usd in message_usd(at, lane).items():
            share = beyond_disks if component == "MSK: disks" else 1
            growing[component, lane] = usd * traffic.messages_a_month * share
        workers = at.workers[lane]
        more_workers = max(0, backend.workers_needed(at, lane) - workers)
        growing["Spark: workers", lane] = worker * more_workers
        fixed["Spark: workers", lane] = worker * workers
        fixed |= {
            (component, lane): usd for component, usd in backend.lane_jobs_usd(at, lane).items()
        }
    more_brokers = backend.brokers_needed(at) - at.stage.broker_count
    growing["MSK: brokers", None] = backend.broker_usd(at) * more_brokers
    fixed["MSK: brokers", None] = backend.broker_usd(at) * at.stage.broker_count
    shared = {**_fixed_usd(at), **backend.lake_jobs_usd(at)}
    fixed |= {(component, None): usd for component, usd in shared.items()}
    messages = {lane: one.messages_a_month for lane, one in at.traffic.items()}
    return Bill(fixed=fixed, growing=growing, messages=messages)


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
    provisioned_gib = stage.broker_count * stage.broker_storage_gib
    traces = TRACED_PER_S * HOURS_A_MONTH * 3600
    return {
        "Firewall": at.usd("firewall_month") * stage.has_firewall,
        "X-Ray": at.usd("trace", traces) * stage.has_tracing,
        "MSK: disks": at.usd("broker_storage_gb_month", provisioned_gib),
        "VPC endpoints": at.usd("endpoint_hour", endpoint_hours),
        "MSK: metrics by topic": at.usd("metric_month", _kafka_metrics(at)),
        "CloudWatch: metrics, alarms, dashboard": watching_usd,
        "CloudWatch: accepted messages by stream": at.usd("metric_month", streams),
        "KMS keys": at.usd("kms_key_month", at.measure("kms_keys")),
    }


def _kafka_metrics(at: Scenario) -> float:
    """What MSK writes to CloudWatch beyond its free metrics."""
    of_topics = at.measure("topics") * at.measure("kafka_metrics_per_topic")
    return at.stage.broker_count * (at.measure("kafka_metrics_per_broker") + of_topics)


def with_http(at: Scenario) -> Scenario:
    """The same behind the HTTP API, which has neither a firewall nor traces."""
    return at.on(api=Api.HTTP, has_firewall=False, has_tracing=False)


def savings(at: Scenario) -> Iterator[tuple[str, float, float]]:
    """The large ones, each on its own: its name, and what is paid in a month now and then."""
    batching = f"Batching: a device sends {_READINGS_A_MESSAGE} readings in one message"
    yield batching, bill(at).usd, bill(at.batched(_READINGS_A_MESSAGE)).usd
    yield "The HTTP API instead of the REST API", bill(at).usd, bill(with_http(at)).usd
    on_glue, on_emr = (bill(at.on(engine=engine)).usd for engine in (Engine.GLUE, Engine.EMR))
    yield "EMR Serverless instead of Glue", on_glue, on_emr
    needed = {lane: backend.workers_needed(at, lane) for lane in at.traffic}
    few = sum(needed.values())
    many = sum(max(at.workers[lane], workers) for lane, workers in needed.items())
    workers = f"{few} workers, as many as the CPU load needs, instead of {many}"
    yield workers, backend.worker_usd(at) * many, backend.worker_usd(at) * few
    by_broker = at.stage.broker_count * at.measure("kafka_metrics_per_broker")
    metrics = "MSK's metrics by broker instead of by topic"
    yield metrics, at.usd("metric_month", _kafka_metrics(at)), at.usd("metric_month", by_broker)
    logged_gb = accepted_line_bytes(at) * at.messages_a_month / GB
    yield "No line in the log for each accepted message", at.usd("log_gb", logged_gb), 0.0
    receipt_usd = at.usd("dynamodb_read") + at.usd("dynamodb_write")  # before it lands, and after
    yield "Receipts, if all streams opted in", 0.0, receipt_usd * at.messages_a_month
