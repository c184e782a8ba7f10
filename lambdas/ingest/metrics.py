"""Counting what was accepted and refused, in CloudWatch's embedded metric format."""

from typing import Final

from fleetlane.events.metrics import Dimension, FunctionMetric, Service
from lambdas.http.embedded_metrics import MetricLine

ACCEPTED: Final = MetricLine(
    Service.INGEST,
    {FunctionMetric.ACCEPTED: "Count", FunctionMetric.BODY_BYTES: "Bytes"},
    dimension=Dimension.LANE,
)
REFUSED: Final = MetricLine(
    Service.INGEST, {FunctionMetric.REFUSED: "Count"}, dimension=Dimension.TAG
)
OVERRIDES_UNAVAILABLE: Final = MetricLine(
    Service.INGEST, {FunctionMetric.OVERRIDES_UNAVAILABLE: "Count"}
)
FLOWS_UNAVAILABLE: Final = MetricLine(Service.INGEST, {FunctionMetric.FLOWS_UNAVAILABLE: "Count"})
RECEIPTS_UNAVAILABLE: Final = MetricLine(
    Service.INGEST, {FunctionMetric.RECEIPTS_UNAVAILABLE: "Count"}
)
