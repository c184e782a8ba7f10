"""Alarms of the brokers, by what MSK measures of them."""

from collections.abc import Iterator
from functools import partial
from typing import Final

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch

from infra.alarms.alarm import AlarmRule, metric_of
from infra.stages import PARTITIONS_MAX, Stage

DISK_PERCENT_MAX: Final = 70
CPU_PERCENT_MAX: Final = 60
"""With more, a broker cannot take over what one that fails leaves to it."""

PARTITIONS_PERCENT_MAX: Final = 90
_CPU_MINUTES: Final = 5


def broker_alarms(cluster_name: str, stage: Stage) -> Iterator[AlarmRule]:
    assert stage.broker_type is not None, "a stage in AWS has brokers"
    partitions_max = PARTITIONS_MAX[stage.broker_type]
    for broker in map(str, range(1, stage.broker_count + 1)):
        by = {"Cluster Name": cluster_name, "Broker ID": broker}
        yield from _health_alarms(broker, by)
        yield from _size_alarms(broker, by, partitions_max=partitions_max)
    yield AlarmRule(
        name="partitions-are-offline",
        meaning="Partitions have no leader and can be neither written nor read. "
        "Check how many brokers are down, and open a case with AWS.",
        metric=_metric("OfflinePartitionsCount", {"Cluster Name": cluster_name}),
    )


def _health_alarms(broker: str, by: dict[str, str]) -> Iterator[AlarmRule]:
    yield AlarmRule(
        name=f"broker-{broker}-replicas-are-behind",
        meaning=f"Partitions of broker {broker} have fewer in-sync replicas than they should. "
        "Check for maintenance and for overload; restart no other broker meanwhile.",
        metric=_metric("UnderReplicatedPartitions", by),
        periods=10,
    )
    parts = {
        "user_percent": _metric("CpuUser", by, statistic="Average", minutes=_CPU_MINUTES),
        "system_percent": _metric("CpuSystem", by, statistic="Average", minutes=_CPU_MINUTES),
    }
    yield AlarmRule(
        name=f"broker-{broker}-is-busy",
        meaning=f"Broker {broker} has used over {CPU_PERCENT_MAX} % of its CPU for a quarter of an "
        "hour; it could not take over another's partitions. Choose a larger broker_type.",
        metric=cloudwatch.MathExpression(
            expression=" + ".join(parts),
            using_metrics=dict(parts),
            period=Duration.minutes(_CPU_MINUTES),
            label=f"CPU, % broker {broker}",
        ),
        threshold=CPU_PERCENT_MAX,
        periods=3,
    )


def _size_alarms(broker: str, by: dict[str, str], *, partitions_max: int) -> Iterator[AlarmRule]:
    """A full disk stops a broker, and nothing may be deleted to make room."""
    yield AlarmRule(
        name=f"broker-{broker}-fills",
        meaning=f"Over {DISK_PERCENT_MAX} % of broker {broker}'s disk is used; a full disk "
        "stops it. Raise broker_storage_gib, and do not shorten retention in a hurry.",
        metric=_metric("KafkaDataLogsDiskUsed", by),
        threshold=DISK_PERCENT_MAX,
        periods=3,
    )
    yield AlarmRule(
        name=f"broker-{broker}-has-many-partitions",
        meaning=f"Broker {broker} holds over {PARTITIONS_PERCENT_MAX} % of the {partitions_max} "
        "partitions that MSK advises. Choose a larger broker_type before more flows come.",
        metric=_metric("PartitionCount", by),
        threshold=partitions_max * PARTITIONS_PERCENT_MAX // 100,
        periods=3,
    )


_metric: Final = partial(metric_of, "AWS/Kafka", statistic="Maximum")
