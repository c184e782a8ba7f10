"""Every alarm watches a metric that somebody publishes."""

import ast
from collections.abc import Iterator
from enum import StrEnum
from importlib import import_module
from itertools import product
from pkgutil import iter_modules

import pytest

from fleetlane.events.errors import ProblemTag
from fleetlane.events.job_arguments import LakeTables
from fleetlane.events.lanes import Lane
from fleetlane.events.metrics import (
    FLEET_WATCH,
    NAMESPACE,
    STANDING_LEDGER,
    ApplicationMetric,
    Dimension,
    FunctionMetric,
    JobMetric,
    LaneMetric,
    Service,
    lake_job,
)
from infra.constructs.jobs.spark_applications import APPLICATION_PREFIX, LAKE_APPLICATION
from lambdas.http.embedded_metrics import AcceptedLine, MetricLine
from tests.infra.synthesis import ROOT, Resource, Synthesized

_OF_BROKERS = {"Cluster Name", "Broker ID"}
_OF_ROUTES = {"Method", "Resource", "Stage"}
_OF_FUNCTIONS = {"FunctionName"}
OF_AWS: dict[tuple[str, str], list[set[str]]] = {
    ("AWS/ApiGateway", "5XXError"): [{"ApiName", "Stage"}],
    ("AWS/ApiGateway", "5xx"): [{"ApiId", "Stage"}],
    ("AWS/ApiGateway", "Latency"): [{"ApiName", *_OF_ROUTES}, {"ApiId", *_OF_ROUTES}],
    ("AWS/Events", "Invocations"): [{"RuleName"}],
    ("AWS/Kafka", "CpuSystem"): [_OF_BROKERS],
    ("AWS/Kafka", "CpuUser"): [_OF_BROKERS],
    ("AWS/Kafka", "KafkaDataLogsDiskUsed"): [_OF_BROKERS],
    ("AWS/Kafka", "OfflinePartitionsCount"): [{"Cluster Name"}],
    ("AWS/Kafka", "PartitionCount"): [_OF_BROKERS],
    ("AWS/Kafka", "UnderReplicatedPartitions"): [_OF_BROKERS],
    ("AWS/Lambda", "Errors"): [_OF_FUNCTIONS],
    ("AWS/Lambda", "Throttles"): [_OF_FUNCTIONS],
    ("AWS/SQS", "ApproximateAgeOfOldestMessage"): [{"QueueName"}],
    ("AWS/SQS", "ApproximateNumberOfMessagesVisible"): [{"QueueName"}],
}
"""What AWS's documentation says that its services publish, and by which dimensions."""

VALUES: dict[str, type[StrEnum]] = {Dimension.LANE: Lane, Dimension.TAG: ProblemTag}
OF_JOBS: dict[type[StrEnum], tuple[Dimension, tuple[str, ...]]] = {
    LaneMetric: (Dimension.LANE, tuple(Lane)),
    ApplicationMetric: (
        Dimension.APPLICATION,
        tuple(f"{APPLICATION_PREFIX}{name}" for name in (*Lane, LAKE_APPLICATION)),
    ),
    JobMetric: (Dimension.JOB, (FLEET_WATCH, STANDING_LEDGER, *map(lake_job, LakeTables))),
}

type Published = tuple[str, frozenset[tuple[str, str]]]
"""A metric's name, and its dimensions with their values."""


def published_by_functions() -> Iterator[Published]:
    for service in Service:
        package = import_module(f"lambdas.{service}")
        modules = {one.name for one in iter_modules(package.__path__, f"{package.__name__}.")}
        for module in modules - {"lambdas.ingest.start"}:  # which connects as it is imported
            for line in vars(import_module(module)).values():
                if isinstance(line, MetricLine | AcceptedLine):
                    assert line.service == service
                    yield from _published_in(line)


def _published_in(line: MetricLine | AcceptedLine) -> Iterator[Published]:
    service = (Dimension.SERVICE, line.service)
    ((_, *others),) = line.description["Dimensions"]
    values = [[(other, value) for value in VALUES[other]] for other in others]
    for metric in line.description["Metrics"]:
        for combination in product(*values):
            yield metric["Name"], frozenset((service, *combination))


def published_by_jobs() -> Iterator[Published]:
    """What the jobs' code names, by every value of the metric's dimension."""
    named = set(_members_named_in_jobs())
    for kind, (dimension, values) in OF_JOBS.items():
        for metric in kind:
            if (kind.__name__, metric.name) in named:
                yield from ((metric, frozenset({(dimension, value)})) for value in values)


def _members_named_in_jobs() -> Iterator[tuple[str, str]]:
    for path in (ROOT / "glue_jobs").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                yield node.value.id, node.attr


def watched(stage: Synthesized) -> Iterator[tuple[str, Resource]]:
    """The metrics of every alarm, as ``(namespace, metric)``."""
    for alarm in stage.resources("AWS::CloudWatch::Alarm").values():
        properties = alarm["Properties"]
        parts = [
            part["MetricStat"] for part in properties.get("Metrics", []) if "MetricStat" in part
        ]
        for metric in [part["Metric"] for part in parts] or [properties]:
            yield metric["Namespace"], metric


@pytest.mark.cdk
def test_every_alarm_watches_a_metric_that_somebody_publishes(cloud_stage: Synthesized) -> None:
    published = {*published_by_functions(), *published_by_jobs()}

    ours = [metric for namespace, metric in watched(cloud_stage) if namespace.startswith(NAMESPACE)]

    assert ours
    for metric in ours:
        dimensions = frozenset((one["Name"], one["Value"]) for one in metric["Dimensions"])
        assert (metric["MetricName"], dimensions) in published


@pytest.mark.cdk
def test_every_alarm_on_a_service_of_aws_watches_what_it_publishes(
    cloud_stage: Synthesized, options: Synthesized
) -> None:
    for stage in (cloud_stage, options):
        others = [one for one in watched(stage) if not one[0].startswith(NAMESPACE)]

        assert others
        for namespace, metric in others:
            names = {one["Name"] for one in metric["Dimensions"]}
            assert names in OF_AWS[namespace, metric["MetricName"]]


@pytest.mark.cdk
def test_msk_publishes_what_alarms_watch_by_broker(cloud_stage: Synthesized) -> None:
    [cluster] = cloud_stage.resources("AWS::MSK::Cluster").values()

    brokers = {
        one["Value"]
        for namespace, metric in watched(cloud_stage)
        for one in metric["Dimensions"]
        if namespace == "AWS/Kafka" and one["Name"] == "Broker ID"
    }

    count = cluster["Properties"]["NumberOfBrokerNodes"]
    assert brokers == {str(number) for number in range(1, count + 1)}
    assert cluster["Properties"]["EnhancedMonitoring"] == "PER_BROKER"  # more costs by topic


def test_every_metric_that_is_declared_is_published() -> None:
    names = {name for name, _ in (*published_by_functions(), *published_by_jobs())}
    kinds: tuple[type[StrEnum], ...] = (FunctionMetric, *OF_JOBS)
    declared = {metric for kind in kinds for metric in kind}

    assert declared == names
