"""Alarms of what devices use: the API, its functions, uploads and the spool."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from aws_cdk import Duration

from fleetlane.events.metrics import FLEET_WATCH, Dimension, FunctionMetric, JobMetric, Service
from infra.alarms.alarm import AlarmRule, OurMetrics
from infra.constructs.api import device_api
from infra.constructs.functions.function import PlatformFunction
from infra.constructs.functions.upload_functions import UploadFunctions

FAST_MS_MAX: Final = 500
STANDARD_MS_MAX: Final = 2_000
FAILED_PERCENT_MAX: Final = 1
QUEUE_AGE_S_MAX: Final = 15 * 60
SPOOLED_S_MAX: Final = 600
CANARY_ERRORS_MAX: Final = 3  # those of one minute: its call fails, and its two repetitions
_ROUTE_NAMES: Final = {device_api.FAST_ROUTE: "fast", device_api.BATCH_ROUTE: "batch"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """What devices call, and what puts published flows into force."""

    api: device_api.DeviceApi
    ingest: PlatformFunction
    authorizer: PlatformFunction
    flow_activation: PlatformFunction
    uploads: UploadFunctions
    canary: PlatformFunction | None = None


def edge_alarms(ours: OurMetrics, edge: Edge) -> Iterator[AlarmRule]:
    yield from _api_alarms(edge.api)
    yield from _function_alarms(ours, edge)
    yield from _upload_alarms(edge.uploads)
    yield from _spool_alarms(ours)
    if edge.canary is not None:
        errors = edge.canary.function.metric_errors(period=Duration.minutes(5))
        yield AlarmRule(kind="canary-fails", metric=errors, threshold=CANARY_ERRORS_MAX)
        # Missing data alarms too: then nobody looks, or there was no canary for two days.
        missing = ours.of_job(JobMetric.CANARY_MISSING, job=FLEET_WATCH)
        yield AlarmRule(kind="canary-is-missing", metric=missing, silence_alarms=True)


def _api_alarms(api: device_api.DeviceApi) -> Iterator[AlarmRule]:
    """The fast route is held to a quarter of the others' time, and for a shorter while."""
    yield AlarmRule(
        kind="api-fails",
        of={"percent": FAILED_PERCENT_MAX},
        metric=api.metric(device_api.ApiMetric.FAILED, "Average"),
        threshold=FAILED_PERCENT_MAX / 100,
        periods=3,
    )
    for route in device_api.DEVICE_ROUTES:
        is_fast = route == device_api.FAST_ROUTE
        yield AlarmRule(
            kind="{route}-route-is-slow",
            of={"route": _ROUTE_NAMES.get(route, "standard"), "path": route},
            metric=api.metric(device_api.ApiMetric.LATENCY, "p99", route=route),
            threshold=FAST_MS_MAX if is_fast else STANDARD_MS_MAX,
            periods=2 if is_fast else 5,
        )


def _function_alarms(ours: OurMetrics, edge: Edge) -> Iterator[AlarmRule]:
    """A function counts that it cannot read what it decides by, and goes on without it."""
    for one in (edge.ingest, edge.uploads.issuing, edge.authorizer):
        of = {"function": one.node.id}
        throttles = one.function.metric_throttles(period=Duration.minutes(1))
        yield AlarmRule(kind="{function}-is-throttled", of=of, metric=throttles, periods=3)
    errors = edge.flow_activation.function.metric_errors(period=Duration.minutes(5))
    yield AlarmRule(kind="flow-activation-fails", metric=errors)

    counts = FunctionMetric
    for kind, service, metric in (
        ("flows-unavailable", Service.INGEST, counts.FLOWS_UNAVAILABLE),
        ("overrides-unavailable", Service.INGEST, counts.OVERRIDES_UNAVAILABLE),
        ("upload-overrides-unavailable", Service.UPLOADS, counts.OVERRIDES_UNAVAILABLE),
        ("receipts-unavailable", Service.INGEST, counts.RECEIPTS_UNAVAILABLE),
    ):
        yield AlarmRule(kind=kind, metric=ours.of(metric, {Dimension.SERVICE: service}), periods=5)


def _upload_alarms(uploads: UploadFunctions) -> Iterator[AlarmRule]:
    queue, dead_letters = uploads.queue.queue, uploads.queue.dead_letters
    yield AlarmRule(
        kind="uploads-are-late",
        of={"minutes": QUEUE_AGE_S_MAX // 60},
        metric=queue.metric_approximate_age_of_oldest_message(
            period=Duration.minutes(1), statistic="Maximum"
        ),
        threshold=QUEUE_AGE_S_MAX,
        periods=3,
    )
    waiting = dead_letters.metric_approximate_number_of_messages_visible(
        period=Duration.minutes(5), statistic="Maximum"
    )
    yield AlarmRule(kind="uploads-are-dead-letters", metric=waiting)
    errors = uploads.sweep.function.metric_errors(period=Duration.minutes(15))
    yield AlarmRule(kind="upload-sweep-fails", metric=errors, periods=2)


def _spool_alarms(ours: OurMetrics) -> Iterator[AlarmRule]:
    """Missing data alarms too: then respool does not run."""
    by = {Dimension.SERVICE: Service.RESPOOL}
    yield AlarmRule(
        kind="spool-is-old",
        metric=ours.of(FunctionMetric.OLDEST_SPOOLED_SECONDS, by, statistic="Maximum"),
        threshold=SPOOLED_S_MAX,
        periods=3,
        silence_alarms=True,
    )
    unreadable = ours.of(FunctionMetric.UNREADABLE_SPOOLED, by, statistic="Maximum")
    yield AlarmRule(kind="spool-is-unreadable", metric=unreadable)
