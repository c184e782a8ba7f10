"""Counting uploads in CloudWatch's embedded metric format."""

from aws_lambda_powertools.metrics import EphemeralMetrics, MetricUnit

from fleetlane.events.envelope import Message
from fleetlane.events.errors import ProblemTag


def count_issued() -> None:
    metrics = _metrics()
    metrics.add_metric("Issued", MetricUnit.Count, 1)
    metrics.flush_metrics()


def count_refused(tag: ProblemTag) -> None:
    metrics = _metrics()
    metrics.add_dimension("tag", tag)
    metrics.add_metric("Refused", MetricUnit.Count, 1)
    metrics.flush_metrics()


def count_landed(message: Message) -> None:
    metrics = _metrics()
    metrics.add_dimension("lane", message.lane)
    metrics.add_metric("Accepted", MetricUnit.Count, 1)
    metrics.add_metric("BodyBytes", MetricUnit.Bytes, message.body_bytes)
    metrics.flush_metrics()


def count_swept(uploads: int) -> None:
    metrics = _metrics()
    metrics.add_metric("Swept", MetricUnit.Count, uploads)
    metrics.flush_metrics()


def _metrics() -> EphemeralMetrics:
    return EphemeralMetrics(namespace="Fleetlane", service="uploads")
