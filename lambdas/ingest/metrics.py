"""Counting what was accepted and refused, in CloudWatch's embedded metric format."""

from aws_lambda_powertools.metrics import EphemeralMetrics, MetricUnit

from fleetlane.events.errors import ProblemTag
from lambdas.ingest.service import Receipt


def count_accepted(receipt: Receipt, body_bytes: int) -> None:
    metrics = _metrics()
    metrics.add_dimension("lane", receipt.lane)
    metrics.add_metric("Accepted", MetricUnit.Count, 1)
    metrics.add_metric("BodyBytes", MetricUnit.Bytes, body_bytes)
    metrics.flush_metrics()


def count_refused(tag: ProblemTag) -> None:
    metrics = _metrics()
    metrics.add_dimension("tag", tag)
    metrics.add_metric("Refused", MetricUnit.Count, 1)
    metrics.flush_metrics()


def count_overrides_unavailable() -> None:
    metrics = _metrics()
    metrics.add_metric("OverridesUnavailable", MetricUnit.Count, 1)
    metrics.flush_metrics()


def count_flows_unavailable() -> None:
    metrics = _metrics()
    metrics.add_metric("FlowsUnavailable", MetricUnit.Count, 1)
    metrics.flush_metrics()


def _metrics() -> EphemeralMetrics:
    """One for each call: ``Metrics`` keeps its numbers in one place for all threads."""
    return EphemeralMetrics(namespace="Fleetlane", service="ingest")
