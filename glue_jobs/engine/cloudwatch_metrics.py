"""Metrics of jobs, by CloudWatch's own call."""

import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from clients.aws import client_config
from fleetlane.events.metrics import Dimension

if TYPE_CHECKING:
    from mypy_boto3_cloudwatch import CloudWatchClient

_log = logging.getLogger(__name__)


class CloudWatchMetrics:
    """Publishes values. An unavailable CloudWatch costs a line in the log, never a batch.

    Functions write metrics into their logs; jobs do not: Glue and EMR differ in whether a line of a
    job comes into CloudWatch's logs as it was written.
    """

    def __init__(
        self, cloudwatch: "CloudWatchClient", *, namespace: str, dimensions: Mapping[str, str]
    ) -> None:
        self._cloudwatch, self._namespace, self._dimensions = cloudwatch, namespace, dimensions

    def publish(self, values: Mapping[str, float]) -> None:
        dimensions: Any = [{"Name": name, "Value": at} for name, at in self._dimensions.items()]
        data: Any = [
            {"MetricName": name, "Value": value, "Dimensions": dimensions}
            for name, value in values.items()
        ]
        try:
            self._cloudwatch.put_metric_data(Namespace=self._namespace, MetricData=data)
        except (BotoCoreError, ClientError) as problem:
            whose = ", ".join(f"{name} {at}" for name, at in self._dimensions.items())
            _log.warning("metrics of %s not published: %s", whose, problem)


def published_to(
    namespace: str | None, dimension: Dimension, value: str
) -> Callable[[Mapping[str, float]], None]:
    """Give what publishes values there; without a namespace, as on a laptop, nothing does."""
    if namespace is None:
        return lambda _: None
    cloudwatch = boto3.client("cloudwatch", config=client_config())
    return CloudWatchMetrics(cloudwatch, namespace=namespace, dimensions={dimension: value}).publish
