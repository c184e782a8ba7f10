"""Our routes on API Gateway's REST API, with its own errors."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_apigateway as apigateway
from aws_cdk import aws_wafv2 as wafv2
from aws_cdk import aws_xray as xray
from constructs import Construct

from infra.constructs.api import device_api, problem_answers
from infra.constructs.platform_stack import log_group
from infra.constructs.rights import suppress
from infra.stages import TRACED_PER_S, TRACED_SHARE, Stage

STAGE: Final = "live"
_FIREWALL: Final = Path(__file__).with_name("firewall.json")
"""How many requests an address may send in five minutes; a site with many devices behind one stays
below it. They are counted, but none is sampled: they carry tokens."""

_WATCHED: Final[Mapping[str, Any]] = {
    "metrics_enabled": True,
    "logging_level": apigateway.MethodLoggingLevel.ERROR,
    "data_trace_enabled": False,
}
_ACCESS_LOG: Final[Mapping[str, bool]] = {
    **dict.fromkeys(("http_method", "resource_path", "request_time"), True),
    **dict.fromkeys(("response_length", "status"), True),
    **dict.fromkeys(("caller", "ip", "protocol", "user"), False),
}
"""What, when, how long, and how it ended: no body, no token, no address."""
_NO_WAF: Final = "Devices are authenticated and the stage is throttled; a firewall is optional."
_DEVICES: Final = "Devices sign tokens with their own keys; they are not users of a pool."


class RestDeviceApi(device_api.DeviceApi):
    """With errors in our own words. All bodies are binary, so that they arrive unchanged."""

    def __init__(
        self, scope: Construct, name: str, *, stage: Stage, functions: device_api.ApiFunctions
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
            _add_firewall(self, self.rest.deployment_stage)
        if stage.has_tracing:
            self._add_sampling()
        if stage.device_domain is not None:
            domain = apigateway.DomainName(
                self,
                "Domain",
                **device_api.domain_options(self, stage.device_domain),
                endpoint_type=apigateway.EndpointType.REGIONAL,
                security_policy=apigateway.SecurityPolicy.TLS_1_2,
            )
            domain.add_base_path_mapping(self.rest, stage=self.rest.deployment_stage)

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
        suppress(api, "Bodies are opaque bytes; ingest validates the rest of a request.", "APIG2")
        # pragma: allowlist nextline secret
        writes_logs = "service-role/AmazonAPIGatewayPushToCloudWatchLogs"
        reason = "API Gateway has one role an account and region for its logs; this is AWS's own."
        suppress(api, reason, f"IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/{writes_logs}]")
        if not stage.has_firewall:
            suppress(api.deployment_stage, _NO_WAF, "APIG3")
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
        return apigateway.StageOptions(
            **limits,
            **_WATCHED,
            method_options=self._methods(**_WATCHED),
            access_log_destination=apigateway.LogGroupLogDestination(log_group(self, "AccessLogs")),
            access_log_format=apigateway.AccessLogFormat.json_with_standard_fields(**_ACCESS_LOG),
            tracing_enabled=stage.has_tracing,
        )

    def _methods(self, **options: Any) -> dict[str, apigateway.MethodDeploymentOptions]:
        """Each route's own settings; it has none of the stage's: ``options`` repeat those."""
        return {
            # As deployment options name a route: path first, then method.
            "/".join(reversed(route.split())): apigateway.MethodDeploymentOptions(
                throttling_rate_limit=per_s, throttling_burst_limit=burst, **options
            )
            for route, (per_s, burst) in device_api.shares(self._stage).items()
        }

    def _add_routes(self, functions: device_api.ApiFunctions) -> None:
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
            results_cache_ttl=Duration.seconds(device_api.AUTHORIZER_TTL_S),
        )
        for route, function in functions.by_route.items():
            method = self.rest.root.resource_for_path(route).add_method(
                "POST",
                integrations[function],
                authorizer=asks,
                authorization_type=apigateway.AuthorizationType.CUSTOM,
            )
            suppress(method, _DEVICES, "COG4")
        health = self.rest.root.resource_for_path(device_api.HEALTH_ROUTE).add_method(
            "GET",
            integrations[functions.ingest],
            authorization_type=apigateway.AuthorizationType.NONE,
        )
        suppress(health, device_api.PUBLIC_HEALTH, "APIG4", "COG4")

    def _add_answers(self) -> None:
        retries_s = problem_answers.RETRY_AFTER_S
        for kind, (tag, detail) in problem_answers.PROBLEMS.items():
            headers = {"Content-Type": f"'{problem_answers.PROBLEM_CONTENT_TYPE}'"}
            again_s = retries_s.get(kind, retries_s.get(tag))
            if again_s is not None:
                headers["Retry-After"] = f"'{again_s}'"
            self.rest.add_gateway_response(
                kind,
                type=apigateway.ResponseType.of(kind),
                status_code=str(tag.status),
                response_headers=headers,
                templates={"application/json": problem_answers.problem_body(tag, detail)},
            )

    def _add_sampling(self) -> None:
        xray.CfnSamplingRule(
            self,
            "Traced",
            sampling_rule={
                "ruleName": f"fleetlane-{self._stage.name}",
                "priority": 100,
                "reservoirSize": TRACED_PER_S,
                "fixedRate": TRACED_SHARE,
                "serviceName": f"{self.rest.rest_api_name}/{STAGE}",
                "serviceType": "AWS::ApiGateway::Stage",
                **dict.fromkeys(("host", "httpMethod", "urlPath", "resourceArn"), "*"),
                "version": 1,
            },
        )


def _add_firewall(scope: Construct, stage: apigateway.Stage) -> None:
    """Block an address that sends far more than any site of ours, for fleets that are attacked.

    It costs 5 USD a month, 1 USD a rule and month, and 0.60 USD a million requests: about a sixth
    of what API Gateway itself costs.
    """
    settings = json.loads(_FIREWALL.read_text())
    firewall = wafv2.CfnWebACL(scope, "Firewall", scope="REGIONAL", **settings)
    wafv2.CfnWebACLAssociation(
        scope, "FirewallOfStage", resource_arn=stage.stage_arn, web_acl_arn=firewall.attr_arn
    )
