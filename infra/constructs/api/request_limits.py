"""Each route's share of a stage's requests, a firewall in front, and which are traced."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from aws_cdk import aws_apigateway as apigateway
from aws_cdk import aws_wafv2 as wafv2
from aws_cdk import aws_xray as xray
from constructs import Construct

from infra.stages import TRACED_PER_S, TRACED_SHARE, Stage

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
        action={"block": {}},
        statement={
            "rateBasedStatement": {"aggregateKeyType": "IP", "limit": REQUESTS_IN_FIVE_MINUTES_MAX}
        },
        visibility_config=_seen_as("one-address"),
    )
    firewall = wafv2.CfnWebACL(
        scope,
        "Firewall",
        scope="REGIONAL",
        default_action={"allow": {}},
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


def add_sampling(scope: Construct, service: str, *, name: str) -> None:
    """Trace a few of the requests of an API's stage, which is ``service`` to X-Ray."""
    xray.CfnSamplingRule(
        scope,
        "Traced",
        sampling_rule=xray.CfnSamplingRule.SamplingRuleProperty(
            rule_name=name,
            priority=100,
            reservoir_size=TRACED_PER_S,
            fixed_rate=TRACED_SHARE,
            service_name=service,
            service_type="AWS::ApiGateway::Stage",
            host="*",
            http_method="*",
            url_path="*",
            resource_arn="*",
            version=1,
        ),
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


def shares(stage: Stage) -> dict[str, tuple[int, int]]:
    """Give each route its share of a stage's requests a second, and of its burst.

    So a burst on one leaves room for the others.
    """
    per_s, burst = stage.requests_per_s, stage.requests_burst
    return {
        route: (max(1, per_s * percent // 100), max(1, burst * percent // 100))
        for route, percent in SHARES_PERCENT.items()
    }
