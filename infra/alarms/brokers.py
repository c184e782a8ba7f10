"""Alarms of the brokers, by what MSK measures of them."""

from collections.abc import Iterator
from functools import partial
from typing import Final

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch

from infra.alarms.alarm import AlarmRule, metric_of
from infra.stages import PARTITIONS_MAX, Stage

DISK_PERCENT_MAX: Final = 70  # a full disk stops a broker, and nothing may be deleted to make room
CPU_PERCENT_MAX: Final = 60  # with more, a broker cannot take over what one that fails leaves to it
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
        conditions: list[tuple[str, cloudwatch.IMetric, float, int]] = [
            ("replicas-are-behind", _metric("UnderReplicatedPartitions", by), 0, 10),
            ("is-busy", _cpu_percent(by), CPU_PERCENT_MAX, 3),
            ("fills", _metric("KafkaDataLogsDiskUsed", by), DISK_PERCENT_MAX, 3),
            ("has-many-partitions", _metric("PartitionCount", by), partitions_max, 3),
        ]
        for kind, metric, threshold, periods in conditions:
            name = f"broker-{{broker}}-{kind}"
            yield AlarmRule(kind=name, of=of, metric=metric, threshold=threshold, periods=periods)
    offline = _metric("OfflinePartitionsCount", cluster)
    yield AlarmRule(kind="partitions-are-offline", metric=offline)


def _cpu_percent(by: dict[str, str]) -> cloudwatch.MathExpression:
    parts = {
        name: _metric(metric, by, statistic="Average", minutes=_CPU_MINUTES)
        for name, metric in {"user_percent": "CpuUser", "system_percent": "CpuSystem"}.items()
    }
    return cloudwatch.MathExpression(
        expression=" + ".join(parts),
        using_metrics=dict(parts),
        period=Duration.minutes(_CPU_MINUTES),
        label=f"CPU, % broker {by['Broker ID']}",
    )
