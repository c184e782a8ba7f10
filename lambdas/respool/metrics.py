"""Counting what a run did, in CloudWatch's embedded metric format."""

from collections.abc import Mapping
from typing import Final

from fleetlane.events.metrics import FunctionMetric, Service
from lambdas.http.embedded_metrics import MetricLine

_RUN: Final = MetricLine(
    Service.RESPOOL,
    {FunctionMetric.RESPOOLED_RECORDS: "Count", FunctionMetric.UNREADABLE_SPOOLED: "Count"},
)
_OLDEST: Final = MetricLine(Service.RESPOOL, {FunctionMetric.OLDEST_SPOOLED_SECONDS: "Seconds"})


def count_run(told: Mapping[str, int]) -> None:
    """Write each run's numbers, zeros too: silence is an alarm."""
    _RUN.write(told["records"], told["unreadable"])
    if "oldest_s" in told:
        _OLDEST.write(told["oldest_s"])
