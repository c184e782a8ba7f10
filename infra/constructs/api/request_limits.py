"""Each route's share of a stage's requests, and a firewall in front of the API."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from aws_cdk import aws_apigateway as apigateway
from aws_cdk import aws_wafv2 as wafv2
from constructs import Construct

REQUESTS_IN_FIVE_MINUTES_MAX: Final = 20_000
"""Per address; a site with many devices behind one address stays below it."""


def add_firewall(scope: Construct, stage: apigateway.Stage) -> None:
    """Block an address that sends far more than any site of ours, for fleets that are attacked.

    It costs 5 USD a month, 1 USD a rule and month, and 0.60 USD a million requests: about a sixth
    of what API Gateway itself costs.
    """
    rule = wafv2.CfnWebACL.RuleProperty(
        name="one-address",
        priority=0,
        action=wafv2.CfnWebACL.RuleActionProperty(block={}),
        statement=wafv2.CfnWebACL.StatementProperty(
            rate_based_statement=wafv2.CfnWebACL.RateBasedStatementProperty(
                aggregate_key_type="IP", limit=REQUESTS_IN_FIVE_MINUTES_MAX
            )
        ),
        visibility_config=_seen_as("one-address"),
    )
    firewall = wafv2.CfnWebACL(
        scope,
        "Firewall",
        scope="REGIONAL",
        default_action=wafv2.CfnWebACL.DefaultActionProperty(allow={}),
        rules=[rule],
        visibility_config=_seen_as("firewall"),
    )
    wafv2.CfnWebACLAssociation(
        scope, "FirewallOfStage", resource_arn=stage.stage_arn, web_acl_arn=firewall.attr_arn
    )


def _seen_as(name: str) -> wafv2.CfnWebACL.VisibilityConfigProperty:
    """Counted, but no requests are sampled: they carry tokens."""
    return wafv2.CfnWebACL.VisibilityConfigProperty(
        cloud_watch_metrics_enabled=True, metric_name=name, sampled_requests_enabled=False
    )


SHARES_PERCENT: Final[Mapping[str, int]] = MappingProxyType(
    {
        "POST /v1/streams/{stream}": 69,
        "POST /v1/fast/{stream}": 20,
        "POST /v1/batch": 8,  # up to 500 messages each
        "POST /v1/uploads/{stream}": 1,  # forms alone: the bodies go to S3
        "GET /v1/health": 2,  # anybody may ask
    }
)
"""They add up to 100: API Gateway throttles each route separately, and the account as a whole."""


def throttles(
    requests_per_s: int, requests_burst: int, **options: Any
) -> dict[str, apigateway.MethodDeploymentOptions]:
    """Give each route its share of a stage's requests a second, and of its burst.

    So a burst on one leaves room for the others.
    A route with settings of its own has none of the stage's: ``options`` repeat those.
    """
    return {
        # As deployment options name a route: path first, then method.
        "/".join(reversed(route.split())): apigateway.MethodDeploymentOptions(
            throttling_rate_limit=max(1, requests_per_s * percent // 100),
            throttling_burst_limit=max(1, requests_burst * percent // 100),
            **options,
        )
        for route, percent in SHARES_PERCENT.items()
    }
