"""The canary's function: it talks to the API alone, as devices do."""

from aws_cdk import Duration, Stack
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from constructs import Construct

from fleetlane.events.names import audience_of
from fleetlane.events.stage_resources import canary_key_name
from infra.constructs.functions.platform_function import (
    FunctionContext,
    FunctionSize,
    PlatformFunction,
)
from infra.constructs.rights import grant

_TIMEOUT_S = 120
_CONCURRENCY = 2
"""A minute that waits for answers does not hold up the next."""


def canary_function(
    scope: Construct, *, context: FunctionContext, api_url: str
) -> PlatformFunction:
    """Add the function, called at the beginning of each minute. It may read its key, no more.

    An event that failed comes again with the same time, and sends the same messages.
    """
    name = canary_key_name(context.stage.name)
    canary = PlatformFunction(
        scope,
        "canary",
        context=context,
        size=FunctionSize(memory_mib=256, timeout_s=_TIMEOUT_S, concurrency=_CONCURRENCY),
        environment={
            "API_URL": api_url,
            "AUDIENCE": audience_of(context.stage.name),
            "KEY_PARAMETER": name,
        },
        in_network=False,  # devices are outside too
    )
    # The key of Systems Manager decrypts for whoever in the account may read the parameter.
    stack, key = Stack.of(scope), name.lstrip("/")
    key_arn = stack.format_arn(service="ssm", resource="parameter", resource_name=key)
    grant(canary.role, ["ssm:GetParameter"], [key_arn])
    events.Rule(
        scope,
        "Canaries",
        description="Sends known messages through the API in every lane",
        schedule=events.Schedule.cron(minute="*"),  # at second 0: the event's time names the minute
        targets=[targets.LambdaFunction(canary.function, max_event_age=Duration.minutes(5))],
    )
    return canary
