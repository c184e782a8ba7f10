"""One page that shows the platform: alarms first, then the lanes side by side, then the API."""

from collections.abc import Sequence

from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from fleetlane.events.lanes import LANE_LIMITS, Lane
from infra.alarms.lane_metrics import CHILDREN_USED_UP, LAG_SECONDS, PARKED, PARSED, lane_metric
from infra.constructs.api.device_api import DEVICE_ROUTES
from infra.stacks.ingest import Ingest

_WHOLE_WIDTH = 24


def add_dashboard(
    scope: Construct, name: str, *, ingest: Ingest, alarms: Sequence[cloudwatch.Alarm]
) -> None:
    """Add the page; ``name`` is what it is called in the console."""
    page = cloudwatch.Dashboard(scope, "Dashboard", dashboard_name=name)
    page.add_widgets(
        cloudwatch.AlarmStatusWidget(alarms=list(alarms), title="Alarms", width=_WHOLE_WIDTH)
    )
    page.add_widgets(*(_lag_of(lane) for lane in Lane))
    page.add_widgets(*(_outcomes_of(lane) for lane in Lane))
    page.add_widgets(_answers(ingest), _latencies(ingest), _accepted())


def _lag_of(lane: Lane) -> cloudwatch.GraphWidget:
    limit_s = LANE_LIMITS[lane].lag_alarm_s
    return cloudwatch.GraphWidget(
        title=f"{lane}: seconds until parsed",
        left=[lane_metric(LAG_SECONDS, lane, statistic="Maximum")],
        left_annotations=[cloudwatch.HorizontalAnnotation(value=limit_s, label="alarm")],
        width=8,
    )


def _outcomes_of(lane: Lane) -> cloudwatch.GraphWidget:
    return cloudwatch.GraphWidget(
        title=f"{lane}: outcomes a minute",
        left=[lane_metric(name, lane) for name in (PARSED, PARKED, CHILDREN_USED_UP)],
        width=8,
    )


def _answers(ingest: Ingest) -> cloudwatch.GraphWidget:
    names = ("Count", "4XXError", "5XXError")
    return cloudwatch.GraphWidget(
        title="requests a minute",
        left=[ingest.api.metric(name, statistic="Sum") for name in names],
        width=8,
    )


def _latencies(ingest: Ingest) -> cloudwatch.GraphWidget:
    return cloudwatch.GraphWidget(
        title="latency, p99",
        left=[ingest.api.route_metric("Latency", one, statistic="p99") for one in DEVICE_ROUTES],
        width=8,
    )


def _accepted() -> cloudwatch.GraphWidget:
    accepted = [
        cloudwatch.Metric(
            namespace="Fleetlane",
            metric_name="Accepted",
            dimensions_map={"service": "ingest", "lane": lane},
            statistic="Sum",
            label=f"accepted {lane}",
        )
        for lane in Lane
    ]
    return cloudwatch.GraphWidget(title="accepted", left=list(accepted), width=8)
