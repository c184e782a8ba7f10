"""What is paid for being there: endpoints, metrics, alarms, keys."""

from collections.abc import Iterator
from typing import Final

from infra.cost.figures import Figures
from infra.cost.line import Line
from infra.cost.scenario import HOURS_A_MONTH, Scenario

_ENDPOINTS: Final = 3


def standing_lines(scenario: Scenario, figures: Figures) -> Iterator[Line]:
    """Nothing of it grows with messages."""
    stage = scenario.stage
    hours = _ENDPOINTS * len(stage.availability_zones) * HOURS_A_MONTH
    yield Line(component="VPC endpoints", fixed_usd=figures.usd("endpoint_hour", hours))
    yield Line(
        component="MSK: metrics by topic",
        fixed_usd=figures.usd("metric_month", kafka_metrics(scenario, figures)),
    )
    watching = (
        figures.usd("metric_month", figures.measure("custom_metrics"))
        + figures.usd("alarm_metric_month", figures.measure("alarm_metrics"))
        + figures.usd("dashboard_month")
    )
    yield Line(component="CloudWatch: metrics, alarms, dashboard", fixed_usd=watching)
    keys_usd = figures.usd("kms_key_month", figures.measure("kms_keys"))
    yield Line(component="KMS keys", fixed_usd=keys_usd)


def kafka_metrics(scenario: Scenario, figures: Figures) -> float:
    """What MSK writes to CloudWatch beyond its free metrics."""
    of_topics = figures.measure("topics") * figures.measure("kafka_metrics_per_topic")
    of_broker = figures.measure("kafka_metrics_per_broker") + of_topics
    return scenario.stage.broker_count * of_broker
