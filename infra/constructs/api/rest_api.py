"""Our routes on API Gateway's REST API, with its own errors."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_apigateway as apigateway
from constructs import Construct

from infra.constructs.api.device_api import (
    AUTHORIZER_TTL_S,
    HEALTH_ROUTE,
    PUBLIC_HEALTH,
    ApiFunctions,
    DeviceApi,
    domain_options,
)
from infra.constructs.api.problem_answers import (
    PROBLEM_CONTENT_TYPE,
    PROBLEMS,
    RETRY_AFTER_S,
    problem_body,
)
from infra.constructs.api.request_limits import add_firewall, add_sampling, shares
from infra.constructs.platform_stack import log_group
from infra.constructs.rights import suppress
from infra.stages import DeviceDomain, Stage

STAGE: Final = "live"

_WATCHED: Final[Mapping[str, Any]] = MappingProxyType(
    {
        "metrics_enabled": True,
        "logging_level": apigateway.MethodLoggingLevel.ERROR,
        "data_trace_enabled": False,
    }
)
_NO_WAF: Final = "Devices are authenticated and the stage is throttled; a firewall is optional."
_OPAQUE: Final = "Bodies are opaque bytes; ingest validates the rest of a request."
_DEVICES: Final = "Devices sign tokens with their own keys; they are not users of a pool."


class RestDeviceApi(DeviceApi):
    """With errors in our own words. All bodies are binary, so that they arrive unchanged."""

    def __init__(
        self, scope: Construct, name: str, *, stage: Stage, functions: ApiFunctions
    ) -> None:
        super().__init__(scope, name, stage=stage)
        self.rest = self._rest_api()
        self.api_id, self.own_url = self.rest.rest_api_id, self.rest.url
        self.dimensions = {"ApiName": self.rest.rest_api_name, "Stage": STAGE}
        self._add_routes(functions)
        self._add_answers()
        if stage.is_cloud:  # nobody reads an API's logs on a laptop
            # Otherwise API Gateway creates this group itself, and keeps it for ever.
            group_name = f"API-Gateway-Execution-Logs_{self.rest.rest_api_id}/{STAGE}"
            log_group(self, "FailureLogs", log_group_name=group_name)
        if stage.has_firewall:
            add_firewall(self, self.rest.deployment_stage)
        if stage.has_tracing:
            add_sampling(self, f"{self.rest.rest_api_name}/{STAGE}", name=f"fleetlane-{stage.name}")
        if stage.device_domain is not None:
            _add_device_domain(self, self.rest, stage.device_domain)

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
            disable_execute_api_endpoint=not stage.has_default_address,
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
            return apigateway.StageOptions(**limits, method_options=self._methods())
        group = log_group(self, "AccessLogs")
        return apigateway.StageOptions(
            **limits,
            **_WATCHED,
            method_options=self._methods(**_WATCHED),
            access_log_destination=apigateway.LogGroupLogDestination(group),
            access_log_format=_access_log_format(),
            tracing_enabled=stage.has_tracing,
        )

    def _methods(self, **options: Any) -> dict[str, apigateway.MethodDeploymentOptions]:
        """Each route's own settings; it has none of the stage's: ``options`` repeat those."""
        return {
            # As deployment options name a route: path first, then method.
            "/".join(reversed(route.split())): apigateway.MethodDeploymentOptions(
                throttling_rate_limit=per_s, throttling_burst_limit=burst, **options
            )
            for route, (per_s, burst) in shares(self._stage).items()
        }

    def _add_routes(self, functions: ApiFunctions) -> None:
        # One permission for the whole API: one a method would soon be too long a policy.
        integrations = {
            function: apigateway.LambdaIntegration(function, scope_permission_to_method=False)
            for function in (functions.ingest, functions.uploads)
        }
        asks = apigateway.RequestAuthorizer(
            self,
            "Authorizer",
            handler=functions.authorizer,
            identity_sources=[apigateway.IdentitySource.header("Authorization")],
            results_cache_ttl=Duration.seconds(AUTHORIZER_TTL_S),
        )
        for route, function in functions.by_route.items():
            method = self.rest.root.resource_for_path(route).add_method(
                "POST",
                integrations[function],
                authorizer=asks,
                authorization_type=apigateway.AuthorizationType.CUSTOM,
            )
            suppress(method, "COG4", _DEVICES)
        health = self.rest.root.resource_for_path(HEALTH_ROUTE).add_method(
            "GET",
            integrations[functions.ingest],
            authorization_type=apigateway.AuthorizationType.NONE,
        )
        suppress(health, "APIG4", PUBLIC_HEALTH)
        suppress(health, "COG4", PUBLIC_HEALTH)

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
    name = apigateway.DomainName(
        scope,
        "Domain",
        **domain_options(scope, domain),
        endpoint_type=apigateway.EndpointType.REGIONAL,
        security_policy=apigateway.SecurityPolicy.TLS_1_2,
    )
    name.add_base_path_mapping(api, stage=api.deployment_stage)
