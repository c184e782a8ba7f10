"""Counting what a run did, in CloudWatch's embedded metric format."""

from collections.abc import Mapping

from clients.embedded_metrics import EmbeddedMetrics


def count_run(told: Mapping[str, int]) -> None:
    """Write each run's numbers, zeros too: silence is an alarm."""
    metrics = EmbeddedMetrics(service="respool")
    if "oldest_s" in told:
        metrics.add_metric("OldestSpooledSeconds", "Seconds", told["oldest_s"])
    metrics.add_metric("RespooledRecords", "Count", told["records"])
    metrics.add_metric("UnreadableSpooled", "Count", told["unreadable"])
    metrics.flush_metrics()
