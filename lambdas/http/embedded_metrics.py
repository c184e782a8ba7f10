"""Metrics as lines of a function's log: CloudWatch's embedded metric format.

Powertools writes the same lines, which took it a third of the time that ingest had for a request.
"""

import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any

from fleetlane.events.lanes import Lane
from fleetlane.events.metrics import NAMESPACE, Dimension, FunctionMetric, Service
from fleetlane.events.times import now_ms


class MetricLine:
    """Metrics that are always written together, with at most one dimension beside the service.

    All of a line but its time, its dimension's value and the numbers is made once. ``about`` names
    texts that are in the log alone: as dimensions, each of their values would cost a metric.
    """

    def __init__(
        self,
        service: Service,
        *metrics: FunctionMetric,
        dimension: Dimension | None = None,
        about: Sequence[str] = (),
    ) -> None:
        self.service = service
        values = () if dimension is None else (dimension,)
        self.description = _directive(values, metrics)
        texts: tuple[str, ...] = (*values, *about)
        self._template = _template(service, texts, metrics, self.description)

    def write(self, *values: float, of: StrEnum | None = None, about: Sequence[str] = ()) -> None:
        """Write ``values``, in the order of the metrics; ``of`` is the dimension's value."""
        texts = (json.dumps(one)[1:-1] for one in ((of, *about) if of else about))
        sys.stdout.write(self._template % (now_ms(), *texts, *values))


class AcceptedLine:
    """The line of accepted messages: by lane, and their number by stream and lane besides.

    Its time is their arrival, so that each is counted in the minute that its record names.
    """

    def __init__(self, service: Service) -> None:
        self.service = service
        metrics = (FunctionMetric.ACCEPTED, FunctionMetric.BODY_BYTES)
        values = (Dimension.STREAM, Dimension.LANE)
        self.description = _directive((Dimension.LANE,), metrics)
        self._repeats = _template(service, values, metrics, self.description)
        of_stream = _directive(values, metrics[:1])
        self._template = _template(service, values, metrics, self.description, of_stream)

    def write(
        self, count: int, body_bytes: int, *, lane: Lane, stream: str | None, arrival_millis: int
    ) -> None:
        """Write the line of ``count`` messages that arrived together.

        Without a ``stream`` they are repeats of messages that were counted, and stored, before:
        they are answered once more, and are no more records of their stream.
        """
        template = self._repeats if stream is None else self._template
        # The name of a stream is checked, or our own: no character of it needs an escape.
        sys.stdout.write(template % (arrival_millis, stream or "", lane, count, body_bytes))


def _directive(
    dimensions: Sequence[Dimension], metrics: Sequence[FunctionMetric]
) -> dict[str, Any]:
    own = os.environ.get("POWERTOOLS_METRICS_NAMESPACE", NAMESPACE)  # noqa: TID251 - for all functions
    return {
        "Namespace": own,
        "Dimensions": [[Dimension.SERVICE, *dimensions]],
        "Metrics": [{"Name": one, "Unit": one.unit} for one in metrics],
    }


def _template(
    service: Service, texts: Iterable[str], metrics: Iterable[str], *directives: Mapping[str, Any]
) -> str:
    about = json.dumps(directives, separators=(",", ":"))  # each byte is paid a message
    gaps = "".join(f',"{name}":"%s"' for name in texts)
    numbers = "".join(f',"{name}":[%s]' for name in metrics)
    return (
        f'{{"_aws":{{"Timestamp":%d,"CloudWatchMetrics":{about}}},'
        f'"service":"{service}"{gaps}{numbers}}}\n'
    )
