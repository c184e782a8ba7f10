"""Counting what was accepted and refused, in CloudWatch's embedded metric format."""

from aws_lambda_powertools.metrics import EphemeralMetrics, MetricUnit

from fleetlane.events.errors import ProblemTag
from fleetlane.events.lanes import Lane


def count_accepted(lane: Lane, *, body_bytes: int, messages: int = 1) -> None:
    metrics = _metrics()
    metrics.add_dimension("lane", lane)
    metrics.add_metric("Accepted", MetricUnit.Count, messages)
    metrics.add_metric("BodyBytes", MetricUnit.Bytes, body_bytes)
    metrics.flush_metrics()


def count_refused(tag: ProblemTag, *, messages: int = 1) -> None:
    metrics = _metrics()
    metrics.add_dimension("tag", tag)
    metrics.add_metric("Refused", MetricUnit.Count, messages)
    metrics.flush_metrics()


def count_flows_unavailable() -> None:
    metrics = _metrics()
    metrics.add_metric("FlowsUnavailable", MetricUnit.Count, 1)
    metrics.flush_metrics()


def count_receipts_unavailable() -> None:
    metrics = _metrics()
    metrics.add_metric("ReceiptsUnavailable", MetricUnit.Count, 1)
    metrics.flush_metrics()


def _metrics() -> EphemeralMetrics:
    """One for each call: ``Metrics`` keeps its numbers in one place for all threads."""
    return EphemeralMetrics(namespace="Fleetlane", service="ingest")
