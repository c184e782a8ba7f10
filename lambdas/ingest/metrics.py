"""Counting what was accepted and refused, in CloudWatch's embedded metric format."""

from typing import Final

from fleetlane.events.errors import ProblemTag
from fleetlane.events.lanes import Lane
from lambdas.http.embedded_metrics import MetricLine

_SERVICE: Final = "ingest"
_ACCEPTED: Final = MetricLine(
    _SERVICE, {"Accepted": "Count", "BodyBytes": "Bytes"}, dimension="lane"
)
_REFUSED: Final = MetricLine(_SERVICE, {"Refused": "Count"}, dimension="tag")
_OVERRIDES_UNAVAILABLE: Final = MetricLine(_SERVICE, {"OverridesUnavailable": "Count"})
_FLOWS_UNAVAILABLE: Final = MetricLine(_SERVICE, {"FlowsUnavailable": "Count"})
_RECEIPTS_UNAVAILABLE: Final = MetricLine(_SERVICE, {"ReceiptsUnavailable": "Count"})


def count_accepted(lane: Lane, *, body_bytes: int, messages: int = 1) -> None:
    _ACCEPTED.write(messages, body_bytes, of=lane)


def count_refused(tag: ProblemTag, *, messages: int = 1) -> None:
    _REFUSED.write(messages, of=tag)


def count_overrides_unavailable() -> None:
    _OVERRIDES_UNAVAILABLE.write(1)


def count_flows_unavailable() -> None:
    _FLOWS_UNAVAILABLE.write(1)


def count_receipts_unavailable() -> None:
    _RECEIPTS_UNAVAILABLE.write(1)
