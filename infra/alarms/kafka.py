"""Alarms of the brokers: space, and replicas that are behind or gone."""

from collections.abc import Iterator, Mapping
from typing import Final

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch

from infra.alarms.alarm import AlarmRule
from infra.stacks.streaming import Streaming

DISK_PERCENT_MAX: Final = 70
_NAMESPACE: Final = "AWS/Kafka"


def kafka_alarms(streaming: Streaming) -> Iterator[AlarmRule]:
    """A full disk stops a broker, and nothing may be deleted to make room."""
    cluster = {"Cluster Name": streaming.cluster_name}
    for broker in streaming.brokers:
        yield AlarmRule(
            name=f"broker-{broker}-fills",
            meaning=f"Over {DISK_PERCENT_MAX} % of broker {broker}'s disk is used.",
            metric=_metric("KafkaDataLogsDiskUsed", {**cluster, "Broker ID": broker}),
            threshold=DISK_PERCENT_MAX,
            periods=3,
        )
        yield AlarmRule(
            name=f"broker-{broker}-replicas-are-behind",
            meaning=f"Partitions of broker {broker} have fewer replicas in sync than they should.",
            metric=_metric("UnderReplicatedPartitions", {**cluster, "Broker ID": broker}),
            threshold=0,
            periods=10,
        )
    yield AlarmRule(
        name="partitions-are-offline",
        meaning="Partitions have no leader: nothing can be written to them or read.",
        metric=_metric("OfflinePartitionsCount", cluster),
        threshold=0,
    )


def _metric(name: str, dimensions: Mapping[str, str]) -> cloudwatch.Metric:
    return cloudwatch.Metric(
        namespace=_NAMESPACE,
        metric_name=name,
        dimensions_map=dict(dimensions),
        statistic="Maximum",
        period=Duration.minutes(1),
    )
