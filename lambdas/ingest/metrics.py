"""Counting what was accepted and refused, in CloudWatch's embedded metric format."""

from typing import Final

from fleetlane.events.errors import ProblemTag
from fleetlane.events.lanes import Lane
from fleetlane.events.metrics import Dimension, FunctionMetric, Service
from lambdas.http.embedded_metrics import MetricLine

_ACCEPTED: Final = MetricLine(
    Service.INGEST,
    {FunctionMetric.ACCEPTED: "Count", FunctionMetric.BODY_BYTES: "Bytes"},
    dimension=Dimension.LANE,
)
_REFUSED: Final = MetricLine(
    Service.INGEST, {FunctionMetric.REFUSED: "Count"}, dimension=Dimension.TAG
)
_OVERRIDES_UNAVAILABLE: Final = MetricLine(
    Service.INGEST, {FunctionMetric.OVERRIDES_UNAVAILABLE: "Count"}
)
_FLOWS_UNAVAILABLE: Final = MetricLine(Service.INGEST, {FunctionMetric.FLOWS_UNAVAILABLE: "Count"})
_RECEIPTS_UNAVAILABLE: Final = MetricLine(
    Service.INGEST, {FunctionMetric.RECEIPTS_UNAVAILABLE: "Count"}
)


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
