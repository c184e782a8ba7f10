"""Counting what was accepted and refused, in CloudWatch's embedded metric format."""

from clients.embedded_metrics import EmbeddedMetrics
from fleetlane.events.errors import ProblemTag
from lambdas.ingest.service import Receipt


def count_accepted(receipt: Receipt, body_bytes: int) -> None:
    metrics = _metrics()
    metrics.add_dimension("lane", receipt.lane)
    metrics.add_metric("Accepted", "Count", 1)
    metrics.add_metric("BodyBytes", "Bytes", body_bytes)
    metrics.flush_metrics()


def count_refused(tag: ProblemTag) -> None:
    metrics = _metrics()
    metrics.add_dimension("tag", tag)
    metrics.add_metric("Refused", "Count", 1)
    metrics.flush_metrics()


def count_flows_unavailable() -> None:
    metrics = _metrics()
    metrics.add_metric("FlowsUnavailable", "Count", 1)
    metrics.flush_metrics()


def _metrics() -> EmbeddedMetrics:
    return EmbeddedMetrics(service="ingest")
