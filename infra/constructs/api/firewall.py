"""A firewall in front of the API, for fleets that are attacked.

It costs 5 USD a month, 1 USD a rule and month, and 0.60 USD a million requests: about a sixth of
what API Gateway itself costs.
"""

from typing import Final

from aws_cdk import aws_apigateway as apigateway
from aws_cdk import aws_wafv2 as wafv2
from constructs import Construct

REQUESTS_IN_FIVE_MINUTES_MAX: Final = 20_000
"""Per address; a site with many devices behind one address stays below it."""


def add_firewall(scope: Construct, stage: apigateway.Stage) -> None:
    """Block an address that sends far more than any site of ours."""
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
