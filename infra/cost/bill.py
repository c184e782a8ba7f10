"""A month's bill, and its share for a million messages."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from fleetlane.events.lanes import Lane
from infra.cost.edge import edge_lines
from infra.cost.figures import Figures, Line
from infra.cost.jobs import job_lines
from infra.cost.scenario import HOURS_A_MONTH, Scenario
from infra.cost.stores import store_lines

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
        """All its lines as one."""
        lines = [line for line in self.lines if line.component == component]
        return Line(
            component=component,
            fixed_usd=sum(line.fixed_usd for line in lines),
            growing_usd=sum(line.growing_usd for line in lines),
        )


def bill(scenario: Scenario, figures: Figures) -> Bill:
    """Add everything up."""
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
        "KMS keys": figures.usd("kms_key_month", figures.measure("kms_keys")),
    }
    for component, usd in fixed_usd.items():
        yield Line(component=component, fixed_usd=usd)


def kafka_metrics(scenario: Scenario, figures: Figures) -> float:
    """What MSK writes to CloudWatch beyond its free metrics."""
    of_topics = figures.measure("topics") * figures.measure("kafka_metrics_per_topic")
    of_broker = figures.measure("kafka_metrics_per_broker") + of_topics
    return scenario.stage.broker_count * of_broker
