"""Each route's share of a stage's requests: a burst on one leaves room for the others."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from aws_cdk import aws_apigateway as apigateway

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

    A route with settings of its own has none of the stage's: ``options`` repeat those.
    """
    return {
        _deployed(route): apigateway.MethodDeploymentOptions(
            throttling_rate_limit=max(1, requests_per_s * percent // 100),
            throttling_burst_limit=max(1, requests_burst * percent // 100),
            **options,
        )
        for route, percent in SHARES_PERCENT.items()
    }


def _deployed(route: str) -> str:
    """A route as deployment options name it: path first, then method."""
    method, path = route.split()
    return f"{path}/{method}"
