"""Alarms of the brokers, by what MSK measures of them."""

from collections.abc import Iterator
from functools import partial
from typing import Final

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch

from infra.alarms.alarm import AlarmRule, alarm, metric_of
from infra.stages import PARTITIONS_MAX, Stage

PARTITIONS_PERCENT_MAX: Final = 90
_CPU_MINUTES: Final = 5
_metric: Final = partial(metric_of, "AWS/Kafka", statistic="Maximum")


def broker_alarms(cluster_name: str, stage: Stage) -> Iterator[AlarmRule]:
    assert stage.broker_type is not None, "a stage in AWS has brokers"
    cluster, advised = {"Cluster Name": cluster_name}, PARTITIONS_MAX[stage.broker_type]
    partitions_max = advised * PARTITIONS_PERCENT_MAX // 100
    percent = {"percent": PARTITIONS_PERCENT_MAX, "advised": advised}
    for broker in map(str, range(1, stage.broker_count + 1)):
        by, of = {**cluster, "Broker ID": broker}, {"broker": broker, **percent}
        for kind, metric in (
            ("replicas-are-behind", _metric("UnderReplicatedPartitions", by)),
            ("is-busy", _cpu_percent(by)),
            ("fills", _metric("KafkaDataLogsDiskUsed", by)),
        ):
            yield alarm(f"broker-{{broker}}-{kind}", metric, of)
        partitions = _metric("PartitionCount", by)
        yield alarm("broker-{broker}-has-many-partitions", partitions, of, threshold=partitions_max)
    yield alarm("partitions-are-offline", _metric("OfflinePartitionsCount", cluster))


def _cpu_percent(by: dict[str, str]) -> cloudwatch.MathExpression:
    user, system = (
        _metric(name, by, statistic="Average", minutes=_CPU_MINUTES)
        for name in ("CpuUser", "CpuSystem")
    )
    return cloudwatch.MathExpression(
        expression="user_percent + system_percent",
        using_metrics={"user_percent": user, "system_percent": system},
        period=Duration.minutes(_CPU_MINUTES),
        label=f"CPU, % broker {by['Broker ID']}",
    )
