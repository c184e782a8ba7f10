"""Alarms of what devices use: the API, its functions, uploads and the spool."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from aws_cdk import Duration

from fleetlane.events.metrics import FLEET_WATCH, Dimension, FunctionMetric, JobMetric, Service
from infra.alarms.alarm import AlarmRule, OurMetrics, alarm
from infra.constructs.api import device_api
from infra.constructs.functions.function import PlatformFunction
from infra.constructs.functions.upload_functions import UploadFunctions

FAST_MS_MAX: Final = 500
STANDARD_MS_MAX: Final = 2_000
_ROUTE_NAMES: Final = {device_api.FAST_ROUTE: "fast", device_api.BATCH_ROUTE: "batch"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """What devices call, and what puts published flows into force."""

    api: device_api.DeviceApi
    ingest: PlatformFunction
    authorizer: PlatformFunction
    flow_activation: PlatformFunction
    uploads: UploadFunctions
    canary: PlatformFunction | None


def edge_alarms(ours: OurMetrics, edge: Edge) -> Iterator[AlarmRule]:
    yield from _api_alarms(edge.api)
    yield from _function_alarms(ours, edge)
    yield from _upload_alarms(edge.uploads)
    yield from _spool_alarms(ours)
    if edge.canary is not None:
        errors = edge.canary.function.metric_errors(period=Duration.minutes(5))
        yield alarm("canary-fails", errors)
        yield alarm("canary-is-missing", ours.of_job(JobMetric.CANARY_MISSING, job=FLEET_WATCH))


def _api_alarms(api: device_api.DeviceApi) -> Iterator[AlarmRule]:
    """The fast route is held to a quarter of the others' time, and for a shorter while."""
    yield alarm("api-fails", api.metric(device_api.ApiMetric.FAILED, "Average"))
    for route in device_api.DEVICE_ROUTES:
        is_fast = route == device_api.FAST_ROUTE
        yield alarm(
            "{route}-route-is-slow",
            api.metric(device_api.ApiMetric.LATENCY, "p99", route=route),
            {"route": _ROUTE_NAMES.get(route, "standard"), "path": route},
            threshold=FAST_MS_MAX if is_fast else STANDARD_MS_MAX,
            periods=2 if is_fast else 5,
        )


def _function_alarms(ours: OurMetrics, edge: Edge) -> Iterator[AlarmRule]:
    """A function counts that it cannot read what it decides by, and goes on without it."""
    for one in (edge.ingest, edge.uploads.issuing, edge.authorizer):
        throttles = one.function.metric_throttles(period=Duration.minutes(1))
        yield alarm("{function}-is-throttled", throttles, {"function": one.node.id})
    errors = edge.flow_activation.function.metric_errors(period=Duration.minutes(5))
    yield alarm("flow-activation-fails", errors)

    counts = FunctionMetric
    for kind, service, metric in (
        ("flows-unavailable", Service.INGEST, counts.FLOWS_UNAVAILABLE),
        ("overrides-unavailable", Service.INGEST, counts.OVERRIDES_UNAVAILABLE),
        ("upload-overrides-unavailable", Service.UPLOADS, counts.OVERRIDES_UNAVAILABLE),
        ("receipts-unavailable", Service.INGEST, counts.RECEIPTS_UNAVAILABLE),
    ):
        yield alarm(kind, ours.of(metric, {Dimension.SERVICE: service}))


def _upload_alarms(uploads: UploadFunctions) -> Iterator[AlarmRule]:
    age = uploads.queue.queue.metric_approximate_age_of_oldest_message(
        period=Duration.minutes(1), statistic="Maximum"
    )
    yield alarm("uploads-are-late", age)
    waiting = uploads.queue.dead_letters.metric_approximate_number_of_messages_visible(
        period=Duration.minutes(5), statistic="Maximum"
    )
    yield alarm("uploads-are-dead-letters", waiting)
    errors = uploads.sweep.function.metric_errors(period=Duration.minutes(15))
    yield alarm("upload-sweep-fails", errors)


def _spool_alarms(ours: OurMetrics) -> Iterator[AlarmRule]:
    for kind, metric in (
        ("spool-is-old", FunctionMetric.OLDEST_SPOOLED_SECONDS),
        ("spool-is-unreadable", FunctionMetric.UNREADABLE_SPOOLED),
    ):
        by = {Dimension.SERVICE: Service.RESPOOL}
        yield alarm(kind, ours.of(metric, by, statistic="Maximum"))
