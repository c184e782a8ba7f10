"""Counting what a run did, in CloudWatch's embedded metric format."""

from collections.abc import Mapping
from typing import Final

from lambdas.http.embedded_metrics import MetricLine

_SERVICE: Final = "respool"
_RUN: Final = MetricLine(_SERVICE, {"RespooledRecords": "Count", "UnreadableSpooled": "Count"})
_OLDEST: Final = MetricLine(_SERVICE, {"OldestSpooledSeconds": "Seconds"})


def count_run(told: Mapping[str, int]) -> None:
    """Write each run's numbers, zeros too: silence is an alarm."""
    _RUN.write(told["records"], told["unreadable"])
    if "oldest_s" in told:
        _OLDEST.write(told["oldest_s"])
