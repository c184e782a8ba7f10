"""Metrics of jobs, by CloudWatch's own call."""

import logging
from collections.abc import Callable, Mapping
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from clients.aws import CloudWatchClient, aws_client
from fleetlane.events.metrics import Dimension

METRICS_INTERVAL_S: Final = 60
"""CloudWatch keeps a minute's values, and each call costs."""

_log = logging.getLogger(__name__)
type Publish = Callable[[Mapping[str, float]], None]
"""Publishes values by their metrics' names."""


def published_to(
    namespace: str | None,
    dimension: Dimension,
    value: str,
    *,
    cloudwatch: CloudWatchClient | None = None,
) -> Publish:
    """Give what publishes values there; without a namespace, as on a laptop, nothing does.

    An unavailable CloudWatch costs a line in the log, never a batch. Functions write metrics into
    their logs; jobs do not: Glue and EMR differ in whether a line of a job comes into CloudWatch's
    logs as it was written.
    """
    if namespace is None:
        return lambda _: None
    client = cloudwatch or aws_client("cloudwatch")

    def publish(values: Mapping[str, float]) -> None:
        dimensions: Any = [{"Name": dimension, "Value": value}]
        data: Any = [
            {"MetricName": name, "Value": at, "Dimensions": dimensions}
            for name, at in values.items()
        ]
        try:
            client.put_metric_data(Namespace=namespace, MetricData=data)
        except (BotoCoreError, ClientError) as problem:
            _log.warning("metrics of %s %s not published: %s", dimension, value, problem)

    return publish
