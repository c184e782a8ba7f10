"""What both kinds of API have in common: the routes that devices call, and metrics of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final

from aws_cdk import Duration
from aws_cdk import aws_certificatemanager as acm
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_s3 as s3
from constructs import Construct

from infra.stages import DeviceDomain, Stage

AUTHORIZER_TTL_S: Final = 300
FAST_ROUTE: Final = "/v1/fast/{stream}"
BATCH_ROUTE: Final = "/v1/batch"
UPLOADS_ROUTE: Final = "/v1/uploads/{stream}"
HEALTH_ROUTE: Final = "/v1/health"
DEVICE_ROUTES: Final = ("/v1/streams/{stream}", FAST_ROUTE, BATCH_ROUTE)  # what a device POSTs to
PUBLIC_HEALTH: Final = "It only shows that the API answers; no authentication is needed for that."


class ApiMetric(StrEnum):
    """What API Gateway counts, by its REST API's names."""

    REQUESTS = "Count"
    REFUSED = "4XXError"
    FAILED = "5XXError"
    LATENCY = "Latency"


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiFunctions:
    """What the API calls."""

    ingest: lambda_.IFunction
    uploads: lambda_.IFunction
    authorizer: lambda_.IFunction

    @property
    def by_route(self) -> Mapping[str, lambda_.IFunction]:
        """Of those that devices POST to."""
        return {**dict.fromkeys(DEVICE_ROUTES, self.ingest), UPLOADS_ROUTE: self.uploads}


class DeviceApi(Construct):
    """The API in front of our functions: the same routes for the same functions in both kinds.

    ``own_url`` is the address that API Gateway gives it. ``dimensions`` are those of the metrics of
    the whole stage, ``metric_names`` what this kind of API calls those that it names otherwise.
    """

    api_id: str
    own_url: str
    dimensions: Mapping[str, str]
    metric_names: Mapping[ApiMetric, str] = MappingProxyType({})

    def __init__(self, scope: Construct, name: str, *, stage: Stage) -> None:
        super().__init__(scope, name)
        self._stage = stage

    @property
    def url(self) -> str:
        domain = self._stage.device_domain
        if domain is None or domain.keeps_default_address:
            return self.own_url
        return f"https://{domain.name}/"

    def metric(self, metric: ApiMetric, statistic: str, *, route: str = "") -> cloudwatch.Metric:
        """One of API Gateway's metrics of the whole stage, or of one route that devices POST to."""
        of_route = {"Method": "POST", "Resource": route} if route else {}
        return cloudwatch.Metric(
            namespace="AWS/ApiGateway",
            metric_name=self.metric_names.get(metric, metric),
            dimensions_map={**self.dimensions, **of_route},
            statistic=statistic,
            period=Duration.minutes(1),
            label=" ".join([metric, *of_route.values()]),
        )


def domain_options(scope: Construct, domain: DeviceDomain) -> dict[str, Any]:
    """What both kinds of API make a domain name with. Whoever owns the zone makes its DNS entry.

    The name costs nothing, the certificates do: AWS Private CA is 400 USD a month and authority (50
    USD for certificates of a week at most).
    """
    arn = domain.certificate_arn
    bucket, _, key = domain.truststore_uri.removeprefix("s3://").partition("/")
    return {
        "domain_name": domain.name,
        "certificate": acm.Certificate.from_certificate_arn(scope, "Certificate", arn),
        "mtls": {"bucket": s3.Bucket.from_bucket_name(scope, "Truststore", bucket), "key": key},
    }


SHARES_PERCENT: Final[Mapping[str, int]] = {
    "POST /v1/streams/{stream}": 69,
    "POST /v1/fast/{stream}": 20,
    "POST /v1/batch": 8,  # up to 500 messages each
    "POST /v1/uploads/{stream}": 1,  # forms alone: the bodies go to S3
    "GET /v1/health": 2,  # anybody may ask
}
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
