"""Counting what was accepted and refused, in CloudWatch's embedded metric format."""

from clients.embedded_metrics import EmbeddedMetrics
from fleetlane.events.errors import ProblemTag
from fleetlane.events.lanes import Lane


def count_accepted(lane: Lane, *, body_bytes: int, messages: int = 1) -> None:
    metrics = _metrics()
    metrics.add_dimension("lane", lane)
    metrics.add_metric("Accepted", "Count", messages)
    metrics.add_metric("BodyBytes", "Bytes", body_bytes)
    metrics.flush_metrics()


def count_refused(tag: ProblemTag, *, messages: int = 1) -> None:
    metrics = _metrics()
    metrics.add_dimension("tag", tag)
    metrics.add_metric("Refused", "Count", messages)
    metrics.flush_metrics()


def count_overrides_unavailable() -> None:
    metrics = _metrics()
    metrics.add_metric("OverridesUnavailable", "Count", 1)
    metrics.flush_metrics()


def count_flows_unavailable() -> None:
    metrics = _metrics()
    metrics.add_metric("FlowsUnavailable", "Count", 1)
    metrics.flush_metrics()


def count_receipts_unavailable() -> None:
    metrics = _metrics()
    metrics.add_metric("ReceiptsUnavailable", "Count", 1)
    metrics.flush_metrics()


def _metrics() -> EmbeddedMetrics:
    return EmbeddedMetrics(service="ingest")
