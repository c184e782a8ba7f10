"""What the jobs tell of a lane, under names that alarms and dashboard share."""

from typing import Final

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_iam as iam

from fleetlane.events.lanes import Lane
from infra.constructs.nag_suppressions import explain_wildcard

NAMESPACE: Final = "Fleetlane"
LAG_SECONDS: Final = "LagSeconds"
"""The age of a lane's oldest record that no attempt was made of; 0 when there is none."""

PARSED: Final = "Parsed"
PARKED: Final = "Parked"
CHILDREN_USED_UP: Final = "ChildrenUsedUp"
"""Messages that went on untried because their parser kills every child that it is given."""
BY_OLDER_PARSER: Final = "ByOlderParser"
"""Attempts by a parser that stays in use because the one that the flow names cannot be used."""
BLOCKED_STREAMS: Final = "BlockedStreams"
"""How many blocking flows wait for somebody's answer."""

EXPIRED_UNREAD: Final = "ExpiredUnread"
"""Records of an application's topics that expired before they were read."""

INSANE_DEVICES_LEFT: Final = "InsaneDevicesLeft"
"""Devices over their ceilings that are not held back, there being too many."""

LOW_COVERAGE_FLOWS: Final = "LowCoverageFlows"
"""Flows whose last hour heard fewer devices than that hour of the week usually does."""
MUCH_PARKED_FLOWS: Final = "MuchParkedFlows"
"""Flows of whose last hour more messages stand parked than is usual."""

LAKE_LAG_SECONDS: Final = "LakeLagSeconds"
"""How long ago the lake held all that its topics did."""

_NO_ARNS: Final = "Metrics have no ARNs; the condition allows our namespace alone."


def lane_metric(name: str, lane: Lane, *, statistic: str = "Sum") -> cloudwatch.Metric:
    """One of the metrics above, minute by minute."""
    return cloudwatch.Metric(
        namespace=NAMESPACE,
        metric_name=name,
        dimensions_map={"lane": lane},
        statistic=statistic,
        period=Duration.minutes(1),
        label=f"{name} {lane}",
    )


def grant_metrics(role: iam.Role) -> None:
    """Let ``role`` write metrics of our namespace."""
    iam.Grant.add_to_principal(
        grantee=role,
        actions=["cloudwatch:PutMetricData"],
        resource_arns=["*"],
        conditions={"StringEquals": {"cloudwatch:namespace": NAMESPACE}},
    )
    explain_wildcard(role, "*", _NO_ARNS)
