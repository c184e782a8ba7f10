"""Alarms of the brokers: disk space, and replicas that are behind or offline."""

from collections.abc import Iterator
from typing import Final

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch

from infra.alarms.alarm import AlarmRule

DISK_PERCENT_MAX: Final = 70


def kafka_alarms(cluster_name: str, *, brokers: int) -> Iterator[AlarmRule]:
    """A full disk stops a broker, and nothing may be deleted to make room."""

    def metric(name: str, **by_broker: str) -> cloudwatch.Metric:
        return cloudwatch.Metric(
            namespace="AWS/Kafka",
            metric_name=name,
            dimensions_map={"Cluster Name": cluster_name, **by_broker},
            statistic="Maximum",
            period=Duration.minutes(1),
        )

    for broker in map(str, range(1, brokers + 1)):
        yield AlarmRule(
            name=f"broker-{broker}-fills",
            meaning=f"Over {DISK_PERCENT_MAX} % of broker {broker}'s disk is used; a full disk "
            "stops it. Raise broker_storage_gib, and do not shorten retention in a hurry.",
            metric=metric("KafkaDataLogsDiskUsed", **{"Broker ID": broker}),
            threshold=DISK_PERCENT_MAX,
            periods=3,
        )
        yield AlarmRule(
            name=f"broker-{broker}-replicas-are-behind",
            meaning=f"Partitions of broker {broker} have fewer in-sync replicas than they should. "
            "Check for maintenance and for overload; restart no other broker meanwhile.",
            metric=metric("UnderReplicatedPartitions", **{"Broker ID": broker}),
            periods=10,
        )
    yield AlarmRule(
        name="partitions-are-offline",
        meaning="Partitions have no leader and can be neither written nor read. "
        "Check how many brokers are down, and open a case with AWS.",
        metric=metric("OfflinePartitionsCount"),
    )
