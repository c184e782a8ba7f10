"""Counting what a run did, in CloudWatch's embedded metric format."""

from collections.abc import Mapping

from aws_lambda_powertools.metrics import EphemeralMetrics, MetricUnit


def count_run(told: Mapping[str, int]) -> None:
    """Write each run's numbers, zeros too: silence is an alarm."""
    metrics = EphemeralMetrics(namespace="Fleetlane", service="respool")
    if "oldest_s" in told:
        metrics.add_metric("OldestSpooledSeconds", MetricUnit.Seconds, told["oldest_s"])
    metrics.add_metric("RespooledRecords", MetricUnit.Count, told["records"])
    metrics.add_metric("UnreadableSpooled", MetricUnit.Count, told["unreadable"])
    metrics.flush_metrics()
