"""Counting uploads in CloudWatch's embedded metric format."""

from clients.embedded_metrics import EmbeddedMetrics
from fleetlane.events.envelope import Message
from fleetlane.events.errors import ProblemTag


def count_issued() -> None:
    metrics = _metrics()
    metrics.add_metric("Issued", "Count", 1)
    metrics.flush_metrics()


def count_refused(tag: ProblemTag) -> None:
    metrics = _metrics()
    metrics.add_dimension("tag", tag)
    metrics.add_metric("Refused", "Count", 1)
    metrics.flush_metrics()


def count_landed(message: Message) -> None:
    metrics = _metrics()
    metrics.add_dimension("lane", message.lane)
    metrics.add_metric("Accepted", "Count", 1)
    metrics.add_metric("BodyBytes", "Bytes", message.body_bytes)
    metrics.flush_metrics()


def count_swept(uploads: int) -> None:
    metrics = _metrics()
    metrics.add_metric("Swept", "Count", uploads)
    metrics.flush_metrics()


def _metrics() -> EmbeddedMetrics:
    return EmbeddedMetrics(service="uploads")
