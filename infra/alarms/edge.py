"""Alarms of what devices use: the API, its functions, uploads and the spool."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from aws_cdk import Duration

from fleetlane.events.metrics import FLEET_WATCH, Dimension, FunctionMetric, JobMetric, Service
from infra.alarms.alarm import AlarmRule, OurMetrics
from infra.constructs.api.device_api import (
    BATCH_ROUTE,
    DEVICE_ROUTES,
    FAST_ROUTE,
    ApiMetric,
    DeviceApi,
)
from infra.constructs.functions.platform_function import PlatformFunction
from infra.constructs.functions.upload_functions import UploadFunctions

FAST_MS_MAX: Final = 500
STANDARD_MS_MAX: Final = 2_000
FAILED_PERCENT_MAX: Final = 1
QUEUE_AGE_S_MAX: Final = 15 * 60
SPOOLED_S_MAX: Final = 600
CANARY_ERRORS_MAX: Final = 3
"""Those of one minute: its call fails, and its two repetitions."""
_ROUTE_NAMES: Final = {FAST_ROUTE: "fast", BATCH_ROUTE: "batch"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """What devices call, and what puts published flows into force."""

    api: DeviceApi
    ingest: PlatformFunction
    authorizer: PlatformFunction
    flow_activation: PlatformFunction
    uploads: UploadFunctions
    canary: PlatformFunction | None = None


def edge_alarms(ours: OurMetrics, edge: Edge) -> Iterator[AlarmRule]:
    yield from _api_alarms(edge.api)
    yield from _function_alarms(edge)
    yield from _unavailable_alarms(ours)
    yield from _upload_alarms(edge.uploads)
    yield from _spool_alarms(ours)
    if edge.canary is not None:
        yield from _canary_alarms(ours, edge.canary)


def _api_alarms(api: DeviceApi) -> Iterator[AlarmRule]:
    """The fast route is held to a quarter of the others' time, and for a shorter while."""
    yield AlarmRule(
        name="api-fails",
        meaning=f"More than {FAILED_PERCENT_MAX} % of requests are answered with a 5xx. "
        "Read ingest's log for `not durable` and `failed`.",
        metric=api.metric(ApiMetric.FAILED, "Average"),
        threshold=FAILED_PERCENT_MAX / 100,
        periods=3,
    )
    for route in DEVICE_ROUTES:
        is_fast = route == FAST_ROUTE
        ms_max = FAST_MS_MAX if is_fast else STANDARD_MS_MAX
        yield AlarmRule(
            name=f"{_ROUTE_NAMES.get(route, 'standard')}-route-is-slow",
            meaning=f"The p99 latency of POST {route} is above {ms_max} ms. "
            "Compare the routes on the dashboard, and check the brokers.",
            metric=api.metric(ApiMetric.LATENCY, "p99", route=route),
            threshold=ms_max,
            periods=2 if is_fast else 5,
        )


def _function_alarms(edge: Edge) -> Iterator[AlarmRule]:
    functions = {
        "ingest": edge.ingest,
        "uploads": edge.uploads.issuing,
        "authorizer": edge.authorizer,
    }
    for name, function in functions.items():
        yield AlarmRule(
            name=f"{name}-is-throttled",
            meaning=f"Calls of the function {name} exceed its reserved concurrency and fail. "
            "Check whether one device or site sends far more than usual.",
            metric=function.function.metric_throttles(period=Duration.minutes(1)),
            periods=3,
        )
    yield AlarmRule(
        name="flow-activation-fails",
        meaning="A published version of the flows could not be activated; the previous one stays "
        "in force. Read the function's log for the reason.",
        metric=edge.flow_activation.function.metric_errors(period=Duration.minutes(5)),
    )


def _unavailable_alarms(ours: OurMetrics) -> Iterator[AlarmRule]:
    """A function counts that it cannot read what it decides by, and goes on without it."""
    late = "Revoked devices may send for five more minutes. Check rights on the artifacts bucket."
    unavailable = (
        (
            "flows-unavailable",
            (Service.INGEST, FunctionMetric.FLOWS_UNAVAILABLE),
            "Ingest cannot read the flows; messages land as those of a stream without a flow. "
            "Check that flows/current.json exists and that ingest may read it.",
        ),
        (
            "overrides-unavailable",
            (Service.INGEST, FunctionMetric.OVERRIDES_UNAVAILABLE),
            f"Ingest cannot read the overrides. {late}",
        ),
        (
            "upload-overrides-unavailable",
            (Service.UPLOADS, FunctionMetric.OVERRIDES_UNAVAILABLE),
            f"Uploads cannot read the overrides. {late}",
        ),
        (
            "receipts-unavailable",
            (Service.INGEST, FunctionMetric.RECEIPTS_UNAVAILABLE),
            "Ingest cannot read or write receipts; a repeated message lands twice. "
            "Check the receipts table for throttling, and ingest's rights on it.",
        ),
    )
    for name, (service, metric), meaning in unavailable:
        yield AlarmRule(
            name=name,
            meaning=meaning,
            metric=ours.of(metric, {Dimension.SERVICE: service}),
            periods=5,
        )


def _upload_alarms(uploads: UploadFunctions) -> Iterator[AlarmRule]:
    yield AlarmRule(
        name="uploads-are-late",
        meaning=f"A notification of an upload waits for over {QUEUE_AGE_S_MAX // 60} minutes. "
        "Read the log of upload_landing for `not landed`.",
        metric=uploads.queue.queue.metric_approximate_age_of_oldest_message(
            period=Duration.minutes(1), statistic="Maximum"
        ),
        threshold=QUEUE_AGE_S_MAX,
        periods=3,
    )
    yield AlarmRule(
        name="uploads-are-dead-letters",
        meaning="Uploads did not land in a day of attempts; their notifications are dead letters. "
        "Read one, and the log of upload_landing for its key.",
        metric=uploads.queue.dead_letters.metric_approximate_number_of_messages_visible(
            period=Duration.minutes(5), statistic="Maximum"
        ),
    )
    yield AlarmRule(
        name="upload-sweep-fails",
        meaning="The sweep cannot look for missed uploads, or found some that cannot land. "
        "Read the log of upload_sweep.",
        metric=uploads.sweep.function.metric_errors(period=Duration.minutes(15)),
        periods=2,
    )


def _spool_alarms(ours: OurMetrics) -> Iterator[AlarmRule]:
    """Missing data alarms too: then respool does not run."""
    by = {Dimension.SERVICE: Service.RESPOOL}
    yield AlarmRule(
        name="spool-is-old",
        meaning=f"Messages have waited in the spool for over {SPOOLED_S_MAX} s, or respool does "
        "not run. Check the brokers, then respool's log.",
        metric=ours.of(FunctionMetric.OLDEST_SPOOLED_SECONDS, by, statistic="Maximum"),
        threshold=SPOOLED_S_MAX,
        periods=3,
        silence_alarms=True,
    )
    yield AlarmRule(
        name="spool-is-unreadable",
        meaning="The spool holds an object that respool cannot read; it stays where it is. "
        "Respool's log names it under `unreadable`.",
        metric=ours.of(FunctionMetric.UNREADABLE_SPOOLED, by, statistic="Maximum"),
    )


def _canary_alarms(ours: OurMetrics, canary: PlatformFunction) -> Iterator[AlarmRule]:
    """Missing data alarms too: then nobody looks, or there was no canary for two days."""
    yield AlarmRule(
        name="canary-fails",
        meaning="The canary's messages are not accepted, or it has no key. Devices may be refused "
        "likewise. Read the function's log for `not accepted`.",
        metric=canary.function.metric_errors(period=Duration.minutes(5)),
        threshold=CANARY_ERRORS_MAX,
    )
    yield AlarmRule(
        name="canary-is-missing",
        meaning="A message of the canary is not in the lake in time, or nobody looks for it. "
        "The watch's log names it: `fleetlane why` shows how far it came.",
        metric=ours.of_job(JobMetric.CANARY_MISSING, job=FLEET_WATCH),
        silence_alarms=True,
    )
