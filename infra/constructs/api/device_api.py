"""The REST API that devices call: its routes, who may use them, and its own errors."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_apigateway as apigateway
from aws_cdk import aws_certificatemanager as acm
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_s3 as s3
from constructs import Construct

from infra.constructs.api.problem_answers import (
    PROBLEM_CONTENT_TYPE,
    PROBLEMS,
    RETRY_AFTER_S,
    problem_body,
)
from infra.constructs.api.request_limits import add_firewall, throttles
from infra.constructs.log_groups import log_group
from infra.constructs.rights import suppress
from infra.stages import DeviceDomain, Stage

STAGE: Final = "live"
AUTHORIZER_TTL_S: Final = 300
FAST_ROUTE: Final = "/v1/fast/{stream}"
BATCH_ROUTE: Final = "/v1/batch"
UPLOADS_ROUTE: Final = "/v1/uploads/{stream}"
HEALTH_ROUTE: Final = "/v1/health"
DEVICE_ROUTES: Final = ("/v1/streams/{stream}", FAST_ROUTE, BATCH_ROUTE)
"""What a device POSTs to."""

_WATCHED: Final[Mapping[str, Any]] = MappingProxyType(
    {
        "metrics_enabled": True,
        "logging_level": apigateway.MethodLoggingLevel.ERROR,
        "data_trace_enabled": False,
    }
)
_NO_WAF: Final = "Devices are authenticated and the stage is throttled; a firewall is optional."
_PUBLIC_HEALTH: Final = "It only shows that the API answers; no authentication is needed for that."
_OPAQUE: Final = "Bodies are opaque bytes; ingest validates the rest of a request."
_DEVICES: Final = "Devices sign tokens with their own keys; they are not users of a pool."


class DeviceApi(Construct):
    """The API in front of our functions. All bodies are binary, so that they arrive unchanged."""

    def __init__(
        self,
        scope: Construct,
        name: str,
        *,
        stage: Stage,
        ingest: lambda_.IFunction,
        uploads: lambda_.IFunction,
        authorizer: lambda_.IFunction,
    ) -> None:
        super().__init__(scope, name)
        self._stage = stage
        self.rest = self._rest_api()
        self._add_routes(ingest, uploads, authorizer)
        self._add_answers()
        if stage.is_cloud:  # nobody reads an API's logs on a laptop
            # Otherwise API Gateway creates this group itself, and keeps it for ever.
            group_name = f"API-Gateway-Execution-Logs_{self.rest.rest_api_id}/{STAGE}"
            log_group(self, "FailureLogs", days=stage.log_retention_days, log_group_name=group_name)
        if stage.has_firewall:
            add_firewall(self, self.rest.deployment_stage)
        if stage.device_domain is not None:
            _add_device_domain(self, self.rest, stage.device_domain)

    @property
    def url(self) -> str:
        domain = self._stage.device_domain
        return self.rest.url if domain is None else f"https://{domain.name}/"

    def metric(self, name: str, statistic: str, *, route: str | None = None) -> cloudwatch.Metric:
        """One of API Gateway's metrics of the whole stage, or of one route that devices POST to."""
        dimensions = {} if route is None else {"Method": "POST", "Resource": route}
        return cloudwatch.Metric(
            namespace="AWS/ApiGateway",
            metric_name=name,
            dimensions_map={"ApiName": self.rest.rest_api_name, "Stage": STAGE, **dimensions},
            statistic=statistic,
            period=Duration.minutes(1),
            label=" ".join([name, *dimensions.values()]),
        )

    def _rest_api(self) -> apigateway.RestApi:
        stage = self._stage
        api = apigateway.RestApi(
            self,
            "Rest",
            rest_api_name=f"fleetlane-{stage.name}",
            description="Fleetlane: devices send their messages here",
            binary_media_types=["*/*"],
            endpoint_types=[apigateway.EndpointType.REGIONAL],
            cloud_watch_role=stage.is_cloud,
            cloud_watch_role_removal_policy=RemovalPolicy.RETAIN if stage.is_cloud else None,
            disable_execute_api_endpoint=stage.device_domain is not None,
            deploy_options=self._stage_options(),
        )
        suppress(api, "APIG2", _OPAQUE)
        if stage.is_cloud:
            # pragma: allowlist nextline secret
            writes_logs = "service-role/AmazonAPIGatewayPushToCloudWatchLogs"
            suppress(
                api,
                f"IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/{writes_logs}]",
                "API Gateway has one role an account and region for its logs; this is AWS's own.",
            )
        if not stage.has_firewall:
            suppress(api.deployment_stage, "APIG3", _NO_WAF)
        return api

    def _stage_options(self) -> apigateway.StageOptions:
        stage = self._stage
        limits: dict[str, Any] = {
            "stage_name": STAGE,
            "throttling_rate_limit": stage.requests_per_s,
            "throttling_burst_limit": stage.requests_burst,
        }
        if not stage.is_cloud:
            shares = throttles(stage.requests_per_s, stage.requests_burst)
            return apigateway.StageOptions(**limits, method_options=shares)
        group = log_group(self, "AccessLogs", days=stage.log_retention_days)
        shares = throttles(stage.requests_per_s, stage.requests_burst, **_WATCHED)
        return apigateway.StageOptions(
            **limits,
            **_WATCHED,
            method_options=shares,
            access_log_destination=apigateway.LogGroupLogDestination(group),
            access_log_format=_access_log_format(),
        )

    def _add_routes(
        self, ingest: lambda_.IFunction, uploads: lambda_.IFunction, authorizer: lambda_.IFunction
    ) -> None:
        # One permission for the whole API: one a method would soon be too long a policy.
        to_ingest, to_uploads = (
            apigateway.LambdaIntegration(function, scope_permission_to_method=False)
            for function in (ingest, uploads)
        )
        asks = apigateway.RequestAuthorizer(
            self,
            "Authorizer",
            handler=authorizer,
            identity_sources=[apigateway.IdentitySource.header("Authorization")],
            results_cache_ttl=Duration.seconds(AUTHORIZER_TTL_S),
        )
        behind = {**dict.fromkeys(DEVICE_ROUTES, to_ingest), UPLOADS_ROUTE: to_uploads}
        for route, integration in behind.items():
            method = self.rest.root.resource_for_path(route).add_method(
                "POST",
                integration,
                authorizer=asks,
                authorization_type=apigateway.AuthorizationType.CUSTOM,
            )
            suppress(method, "COG4", _DEVICES)
        health = self.rest.root.resource_for_path(HEALTH_ROUTE).add_method(
            "GET", to_ingest, authorization_type=apigateway.AuthorizationType.NONE
        )
        suppress(health, "APIG4", _PUBLIC_HEALTH)
        suppress(health, "COG4", _PUBLIC_HEALTH)

    def _add_answers(self) -> None:
        for kind, (tag, detail) in PROBLEMS.items():
            headers = {"Content-Type": f"'{PROBLEM_CONTENT_TYPE}'"}
            if tag in RETRY_AFTER_S:
                headers["Retry-After"] = f"'{RETRY_AFTER_S[tag]}'"
            self.rest.add_gateway_response(
                kind,
                type=apigateway.ResponseType.of(kind),
                status_code=str(tag.status),
                response_headers=headers,
                templates={"application/json": problem_body(tag, detail)},
            )


def _access_log_format() -> apigateway.AccessLogFormat:
    """Who, what, how long, and how it ended: no body, no token, no address."""
    return apigateway.AccessLogFormat.json_with_standard_fields(
        caller=False,
        http_method=True,
        ip=False,
        protocol=False,
        request_time=True,
        resource_path=True,
        response_length=True,
        status=True,
        user=False,
    )


def _add_device_domain(scope: Construct, api: apigateway.RestApi, domain: DeviceDomain) -> None:
    """Answer at ``domain``; whoever owns the zone makes its DNS entry.

    The name costs nothing, the certificates do: AWS Private CA is 400 USD a month and authority (50
    USD for certificates of a week at most).
    """
    bucket, _, key = domain.truststore_uri.removeprefix("s3://").partition("/")
    name = apigateway.DomainName(
        scope,
        "Domain",
        domain_name=domain.name,
        certificate=acm.Certificate.from_certificate_arn(
            scope, "Certificate", domain.certificate_arn
        ),
        endpoint_type=apigateway.EndpointType.REGIONAL,
        security_policy=apigateway.SecurityPolicy.TLS_1_2,
        mtls=apigateway.MTLSConfig(
            bucket=s3.Bucket.from_bucket_name(scope, "Truststore", bucket), key=key
        ),
    )
    name.add_base_path_mapping(api, stage=api.deployment_stage)
