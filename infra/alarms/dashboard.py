"""The dashboard: alarms first, then the lanes side by side, then the API."""

from collections.abc import Sequence
from itertools import batched
from typing import Final

from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from fleetlane.events.lanes import LANE_LIMITS, Lane
from fleetlane.events.metrics import Dimension, FunctionMetric, LaneMetric, Service
from infra.alarms.alarm import OurMetrics
from infra.constructs.api.device_api import DEVICE_ROUTES, ApiMetric, DeviceApi
from infra.stages import Stage

_PAGE_WIDTH: Final = 24
_WIDGET_ALARMS_MAX: Final = 100  # CloudWatch's own limit
_LANE_WIDTH: Final = _PAGE_WIDTH // len(Lane)


def add_dashboard(
    scope: Construct, stage: Stage, *, api: DeviceApi, alarms: Sequence[cloudwatch.Alarm]
) -> None:
    ours = OurMetrics(stage)
    page = cloudwatch.Dashboard(scope, "Dashboard", dashboard_name=f"fleetlane-{stage.name}")
    for some in batched(alarms, _WIDGET_ALARMS_MAX, strict=False):
        states = cloudwatch.AlarmStatusWidget(alarms=list(some), title="Alarms", width=_PAGE_WIDTH)
        page.add_widgets(states)
    page.add_widgets(*(_lag_of(ours, lane) for lane in Lane))
    page.add_widgets(*(_outcomes_of(ours, lane) for lane in Lane))
    counts = (ApiMetric.REQUESTS, ApiMetric.REFUSED, ApiMetric.FAILED)
    latency = [api.metric(ApiMetric.LATENCY, "p99", route=one) for one in DEVICE_ROUTES]
    page.add_widgets(
        _graph("Requests per minute", [api.metric(one, "Sum") for one in counts]),
        _graph("Latency, p99 (ms)", latency),
        _graph("Accepted messages per minute", [_accepted(ours, lane) for lane in Lane]),
    )


def _lag_of(ours: OurMetrics, lane: Lane) -> cloudwatch.GraphWidget:
    limit = cloudwatch.HorizontalAnnotation(value=LANE_LIMITS[lane].lag_alarm_s, label="alarm")
    lag = ours.of_lane(LaneMetric.LAG_SECONDS, lane, statistic="Maximum")
    return _graph(f"{lane} lane: parse lag (s)", [lag], limits=[limit], width=_LANE_WIDTH)


def _outcomes_of(ours: OurMetrics, lane: Lane) -> cloudwatch.GraphWidget:
    shown = (LaneMetric.PARSED, LaneMetric.PARKED, LaneMetric.CHILDREN_USED_UP)
    counts = [ours.of_lane(one, lane) for one in shown]
    return _graph(f"{lane} lane: messages per minute, by outcome", counts, width=_LANE_WIDTH)


def _accepted(ours: OurMetrics, lane: Lane) -> cloudwatch.Metric:
    by = {Dimension.SERVICE: Service.INGEST, Dimension.LANE: lane}
    return ours.of(FunctionMetric.ACCEPTED, by, label=f"accepted {lane}")


def _graph(
    title: str,
    metrics: Sequence[cloudwatch.Metric],
    *,
    limits: Sequence[cloudwatch.HorizontalAnnotation] = (),
    width: int = _PAGE_WIDTH // 3,
) -> cloudwatch.GraphWidget:
    return cloudwatch.GraphWidget(
        title=title, left=list(metrics), left_annotations=list(limits), width=width
    )
