"""Alarms of what devices see: answers that fail, and answers that take long."""

from collections.abc import Iterator
from typing import Final

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch

from infra.alarms.alarm import AlarmRule
from infra.constructs.api.device_api import BATCH_ROUTE, DEVICE_ROUTES, FAST_ROUTE
from infra.stacks.ingest import Ingest

FAST_MS_MAX: Final = 500
STANDARD_MS_MAX: Final = 2_000
FAILED_PERCENT_MAX: Final = 1
_ROUTE_NAMES: Final = {FAST_ROUTE: "fast", BATCH_ROUTE: "batch"}


def api_alarms(ingest: Ingest) -> Iterator[AlarmRule]:
    """The fast route is held to a quarter of the others' time, and for a shorter while."""
    failed = ingest.api.metric("5XXError", statistic="Average")
    yield AlarmRule(
        name="api-fails",
        meaning=f"Over {FAILED_PERCENT_MAX} % of all requests are answered with a 5xx.",
        metric=failed,
        threshold=FAILED_PERCENT_MAX / 100,
        periods=3,
    )
    for route in DEVICE_ROUTES:
        is_fast = route == FAST_ROUTE
        ms_max = FAST_MS_MAX if is_fast else STANDARD_MS_MAX
        yield AlarmRule(
            name=f"{_ROUTE_NAMES.get(route, 'standard')}-route-is-slow",
            meaning=f"One of a hundred POST {route} takes longer than {ms_max} ms.",
            metric=ingest.api.route_metric("Latency", route, statistic="p99"),
            threshold=ms_max,
            periods=2 if is_fast else 5,
        )
    yield from _function_alarms(ingest)


def _function_alarms(ingest: Ingest) -> Iterator[AlarmRule]:
    functions = {
        "ingest": ingest.ingest,
        "uploads": ingest.uploads.issuing,
        "authorizer": ingest.authorizer,
    }
    for name, function in functions.items():
        yield AlarmRule(
            name=f"{name}-is-throttled",
            meaning=f"The function {name} gets more calls than its reserved concurrency takes.",
            metric=function.function.metric_throttles(period=Duration.minutes(1)),
            threshold=0,
            periods=3,
        )
    yield AlarmRule(
        name="flow-activation-fails",
        meaning="A published version of the flows could not be put into force; the old one stays.",
        metric=ingest.flow_activation.function.metric_errors(period=Duration.minutes(5)),
        threshold=0,
    )
    yield _unread(
        name="flows-unavailable",
        meaning="Ingest cannot read the flows; what lands is treated as of a stream without one.",
        metric_name="FlowsUnavailable",
    )
    yield _unread(
        name="overrides-unavailable",
        meaning="Ingest cannot read the overrides; who is revoked may send for five minutes more.",
        metric_name="OverridesUnavailable",
    )
    yield _unread(
        name="upload-overrides-unavailable",
        meaning="Uploads cannot read the overrides; who is revoked may send for five minutes more.",
        metric_name="OverridesUnavailable",
        service="uploads",
    )
    yield _unread(
        name="receipts-unavailable",
        meaning="Ingest cannot read or keep first receipts; what is sent twice lands twice.",
        metric_name="ReceiptsUnavailable",
    )


def _unread(*, name: str, meaning: str, metric_name: str, service: str = "ingest") -> AlarmRule:
    """A function counts in ``metric_name`` that it cannot read what it goes by."""
    metric = cloudwatch.Metric(
        namespace="Fleetlane",
        metric_name=metric_name,
        dimensions_map={"service": service},
        statistic="Sum",
        period=Duration.minutes(1),
    )
    return AlarmRule(name=name, meaning=meaning, metric=metric, threshold=0, periods=5)
