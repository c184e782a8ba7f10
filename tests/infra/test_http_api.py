"""The HTTP API, where a stage has chosen it: the same routes, limits and logs as the REST API's."""

import json

import pytest

from infra.constructs.api.device_api import shares
from infra.constructs.api.http_api import STAGE
from infra.stages import settings_of, stage_from
from lambdas.authorizer.handler import authorize
from local.gateway.event import RESOURCES
from local.gateway.rest_api import AuthorizerResult
from tests.infra.devices import DEVICES, device_token
from tests.infra.synthesis import Resource, Synthesized, lint_said

pytestmark = pytest.mark.cdk


def _routes(options: Synthesized) -> dict[str, Resource]:
    routes = options.resources("AWS::ApiGatewayV2::Route").values()
    return {one["Properties"]["RouteKey"]: one["Properties"] for one in routes}


def _stage(options: Synthesized) -> Resource:
    [stage] = options.resources("AWS::ApiGatewayV2::Stage").values()
    return stage


def test_there_is_no_rest_api_beside_it(options: Synthesized) -> None:
    assert not options.resources("AWS::ApiGateway::RestApi")


def test_cfn_lint_has_nothing_to_say_of_it(options: Synthesized) -> None:
    assert lint_said(options.folder) == ""


def test_the_routes_are_those_of_the_local_gateway_and_ask_the_authorizer(
    options: Synthesized,
) -> None:
    kinds = {route: one["AuthorizationType"] for route, one in _routes(options).items()}

    assert kinds == {
        f"{one.method} {one.path}": "NONE" if one.is_public else "CUSTOM" for one in RESOURCES
    }


def test_each_route_leads_to_the_function_that_the_local_gateway_calls(
    options: Synthesized,
) -> None:
    integrations = options.resources("AWS::ApiGatewayV2::Integration")
    behind = {
        route: integrations[one["Target"]["Fn::Join"][1][1]["Ref"]]["Properties"]
        for route, one in _routes(options).items()
    }

    for one in RESOURCES:
        integration = behind[f"{one.method} {one.path}"]
        assert one.function in str(integration["IntegrationUri"]).lower()
        assert integration["PayloadFormatVersion"] == "1.0"


def test_an_answer_of_the_authorizer_is_a_policy_kept_for_its_token_alone(
    options: Synthesized,
) -> None:
    [authorizer] = options.resources("AWS::ApiGatewayV2::Authorizer").values()

    assert authorizer["Properties"]["AuthorizerPayloadFormatVersion"] == "1.0"
    assert not authorizer["Properties"].get("EnableSimpleResponses", False)
    assert authorizer["Properties"]["IdentitySource"] == ["$request.header.Authorization"]
    assert authorizer["Properties"]["AuthorizerResultTtlInSeconds"] == 300


def test_the_authorizers_kept_policy_covers_all_routes(options: Synthesized) -> None:
    base = f"arn:aws:execute-api:eu-central-1:123456789012:a1b2c3/{STAGE}"
    asked = {
        "version": "1.0",
        "type": "REQUEST",
        "methodArn": f"{base}/POST/v1/streams/thermo",
        "headers": {"authorization": f"Bearer {device_token()}"},
    }

    result = AuthorizerResult.of(authorize(asked, devices=DEVICES))

    for route in _routes(options):
        assert result.allows(f"{base}/{route.replace(' ', '').format(stream='gps')}")


def test_every_route_has_its_share_is_measured_and_deployed_before_the_stage_names_it(
    options: Synthesized,
) -> None:
    stage = _stage(options)
    dev = stage_from("dev", settings_of("dev"))

    settings = stage["Properties"]["RouteSettings"]
    limits = {
        route: (one["ThrottlingRateLimit"], one["ThrottlingBurstLimit"])
        for route, one in settings.items()
    }

    assert limits == shares(dev)
    whole = stage["Properties"]["DefaultRouteSettings"]
    assert whole["ThrottlingRateLimit"] == dev.requests_per_s
    assert {one["DetailedMetricsEnabled"] for one in (whole, *settings.values())} == {True}
    assert set(options.resources("AWS::ApiGatewayV2::Route")) <= set(stage["DependsOn"])


def test_its_stage_is_no_part_of_the_path(options: Synthesized) -> None:
    assert _stage(options)["Properties"]["StageName"] == "$default"
    assert _stage(options)["Properties"]["AutoDeploy"] is True


def test_its_log_holds_neither_bodies_nor_tokens_nor_addresses(options: Synthesized) -> None:
    fields = json.loads(_stage(options)["Properties"]["AccessLogSettings"]["Format"])

    assert {"requestId", "requestTime", "route", "status", "responseLength"} <= set(fields)
    assert not [one for one in fields.values() if "identity" in one or "header" in one]


def test_a_name_of_our_own_is_the_only_address(options: Synthesized) -> None:
    [domain] = options.resources("AWS::ApiGatewayV2::DomainName").values()
    [api] = options.resources("AWS::ApiGatewayV2::Api").values()

    assert domain["Properties"]["MutualTlsAuthentication"] == {
        "TruststoreUri": "s3://our-authorities/devices.pem"
    }
    assert api["Properties"]["DisableExecuteApiEndpoint"] is True
    assert len(options.resources("AWS::ApiGatewayV2::ApiMapping")) == 1


def test_its_alarms_are_those_of_the_rest_api_by_its_own_metrics(
    options: Synthesized, dev: Synthesized
) -> None:
    def of_api(stage: Synthesized) -> dict[str, Resource]:
        alarms = (one["Properties"] for one in stage.resources("AWS::CloudWatch::Alarm").values())
        metrics = {
            one["AlarmName"].split("-", 2)[2]: metric["MetricStat"]["Metric"]
            for one in alarms
            for metric in one.get("Metrics", [])
            if "MetricStat" in metric
        }
        return {name: one for name, one in metrics.items() if one["Namespace"] == "AWS/ApiGateway"}

    of_http = of_api(options)

    assert set(of_http) == set(of_api(dev))
    assert of_http["api-fails"]["MetricName"] == "5xx"
    for metric in of_http.values():
        names = {one["Name"] for one in metric["Dimensions"]}
        assert names - {"Method", "Resource"} == {"ApiId", "Stage"}
