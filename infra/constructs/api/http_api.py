"""Our routes on API Gateway's HTTP API: a third of the REST API's price, and fewer features."""

import json
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from aws_cdk import Aws, Duration
from aws_cdk import aws_apigatewayv2 as apigatewayv2
from aws_cdk import aws_apigatewayv2_authorizers as authorizers
from aws_cdk import aws_apigatewayv2_integrations as integrations
from constructs import Construct

from infra.constructs.api import device_api
from infra.constructs.platform_stack import vended_log_group
from infra.constructs.rights import suppress
from infra.stages import Stage

STAGE: Final = "$default"
"""Any other would be part of the path, which the functions then would not know."""

ACCESS_LOG: Final[Mapping[str, str]] = json.loads(
    Path(__file__).with_name("http_access_log.json").read_text()
)
"""As of the REST API, and what a log of failures has there: this API has none."""


class HttpDeviceApi(device_api.DeviceApi):
    """The same handlers: events, answers and the authorizer's policies have payload format 1.0."""

    metric_names = MappingProxyType(
        {device_api.ApiMetric.REFUSED: "4xx", device_api.ApiMetric.FAILED: "5xx"}
    )

    def __init__(
        self, scope: Construct, name: str, *, stage: Stage, functions: device_api.ApiFunctions
    ) -> None:
        super().__init__(scope, name, stage=stage)
        self._http = apigatewayv2.HttpApi(
            self,
            "Http",
            api_name=f"fleetlane-{stage.name}",
            description="Fleetlane: devices send their messages here",
            create_default_stage=False,
            disable_execute_api_endpoint=not stage.has_default_address,
        )
        self.api_id = self._http.api_id
        self.own_url = f"https://{self.api_id}.execute-api.{stage.region}.{Aws.URL_SUFFIX}/"
        self.dimensions = {"ApiId": self.api_id, "Stage": STAGE}
        routes = self._add_routes(functions)
        live = self._add_stage()
        live.node.add_dependency(*routes)  # it names each of them
        if stage.device_domain is not None:
            tls = apigatewayv2.SecurityPolicy.TLS_1_2
            options = device_api.domain_options(self, stage.device_domain)
            domain = apigatewayv2.DomainName(self, "Domain", **options, security_policy=tls)
            apigatewayv2.ApiMapping(self, "Mapping", api=self._http, domain_name=domain, stage=live)

    def _add_routes(self, functions: device_api.ApiFunctions) -> list[apigatewayv2.HttpRoute]:
        behind = {
            function: integrations.HttpLambdaIntegration(
                f"To{name}",
                function,
                payload_format_version=apigatewayv2.PayloadFormatVersion.VERSION_1_0,
                scope_permission_to_route=False,
            )
            for name, function in {"Ingest": functions.ingest, "Uploads": functions.uploads}.items()
        }
        asks = authorizers.HttpLambdaAuthorizer(
            "Authorizer",
            functions.authorizer,
            identity_source=["$request.header.Authorization"],
            response_types=[authorizers.HttpLambdaResponseType.IAM],
            results_cache_ttl=Duration.seconds(device_api.AUTHORIZER_TTL_S),
        )
        routes = [
            route
            for path, function in functions.by_route.items()
            for route in self._http.add_routes(
                path=path,
                methods=[apigatewayv2.HttpMethod.POST],
                integration=behind[function],
                authorizer=asks,
            )
        ]
        (health,) = self._http.add_routes(
            path=device_api.HEALTH_ROUTE,
            methods=[apigatewayv2.HttpMethod.GET],
            integration=behind[functions.ingest],
        )
        suppress(health, device_api.PUBLIC_HEALTH, "APIG4")
        return [*routes, health]

    def _add_stage(self) -> apigatewayv2.HttpStage:
        stage = self._stage
        live = apigatewayv2.HttpStage(
            self, "Stage", http_api=self._http, stage_name=STAGE, auto_deploy=True
        )
        resource = live.node.default_child
        assert isinstance(resource, apigatewayv2.CfnStage)
        group = vended_log_group(self, "AccessLogs")
        resource.access_log_settings = apigatewayv2.CfnStage.AccessLogSettingsProperty(
            destination_arn=group.log_group_arn, format=json.dumps(ACCESS_LOG)
        )
        whole = _settings(stage.requests_per_s, stage.requests_burst)
        resource.add_property_override("DefaultRouteSettings", whole)
        resource.route_settings = {
            route: _settings(*share) for route, share in device_api.shares(stage).items()
        }
        return live


def _settings(per_s: int, burst: int) -> dict[str, Any]:
    limits = {"ThrottlingRateLimit": per_s, "ThrottlingBurstLimit": burst}
    return {"DetailedMetricsEnabled": True, **limits}
