"""The dashboard: alarms first, then the lanes side by side, then the API."""

from collections.abc import Sequence
from functools import partial
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
_of_lane: Final = partial(cloudwatch.GraphWidget, width=_PAGE_WIDTH // len(Lane))


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
    accepted = [_accepted(ours, lane) for lane in Lane]
    third = partial(cloudwatch.GraphWidget, width=_PAGE_WIDTH // 3)
    page.add_widgets(
        third(title="Requests per minute", left=[api.metric(one, "Sum") for one in counts]),
        third(title="Latency, p99 (ms)", left=latency),
        third(title="Accepted messages per minute", left=accepted),
    )


def _lag_of(ours: OurMetrics, lane: Lane) -> cloudwatch.GraphWidget:
    limit = cloudwatch.HorizontalAnnotation(value=LANE_LIMITS[lane].lag_alarm_s, label="alarm")
    lag = ours.of_lane(LaneMetric.LAG_SECONDS, lane, statistic="Maximum")
    title = f"{lane} lane: parse lag (s)"
    return _of_lane(title=title, left=[lag], left_annotations=[limit])


def _outcomes_of(ours: OurMetrics, lane: Lane) -> cloudwatch.GraphWidget:
    shown = (LaneMetric.PARSED, LaneMetric.PARKED, LaneMetric.CHILDREN_USED_UP)
    counts = [ours.of_lane(one, lane) for one in shown]
    return _of_lane(title=f"{lane} lane: messages per minute, by outcome", left=counts)


def _accepted(ours: OurMetrics, lane: Lane) -> cloudwatch.Metric:
    by = {Dimension.SERVICE: Service.INGEST, Dimension.LANE: lane}
    return ours.of(FunctionMetric.ACCEPTED, by, label=f"accepted {lane}")
