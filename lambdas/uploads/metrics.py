"""Counting uploads in CloudWatch's embedded metric format."""

from typing import Final

from fleetlane.events.envelope import Message
from fleetlane.events.errors import ProblemTag
from fleetlane.events.metrics import Dimension, FunctionMetric, Service
from lambdas.http.embedded_metrics import MetricLine

_ISSUED: Final = MetricLine(Service.UPLOADS, {FunctionMetric.ISSUED: "Count"})
_REFUSED: Final = MetricLine(
    Service.UPLOADS, {FunctionMetric.REFUSED: "Count"}, dimension=Dimension.TAG
)
_LANDED: Final = MetricLine(
    Service.UPLOADS,
    {FunctionMetric.ACCEPTED: "Count", FunctionMetric.BODY_BYTES: "Bytes"},
    dimension=Dimension.LANE,
)
_SWEPT: Final = MetricLine(Service.UPLOADS, {FunctionMetric.SWEPT: "Count"})
_OVERRIDES_UNAVAILABLE: Final = MetricLine(
    Service.UPLOADS, {FunctionMetric.OVERRIDES_UNAVAILABLE: "Count"}
)


def count_issued() -> None:
    _ISSUED.write(1)


def count_refused(tag: ProblemTag) -> None:
    _REFUSED.write(1, of=tag)


def count_landed(message: Message) -> None:
    _LANDED.write(1, message.body_bytes, of=message.lane)


def count_swept(uploads: int) -> None:
    _SWEPT.write(uploads)


def count_overrides_unavailable() -> None:
    _OVERRIDES_UNAVAILABLE.write(1)
