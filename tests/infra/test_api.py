import json
from dataclasses import replace
from http import HTTPStatus
from typing import Any

import pytest
from aws_cdk import App
from aws_cdk import aws_lambda as lambda_
from aws_cdk.assertions import Template

from fleetlane.events.errors import ProblemTag
from infra.constructs.api.device_api import SHARES_PERCENT, ApiFunctions
from infra.constructs.api.http_api import HttpDeviceApi
from infra.constructs.api.problem_answers import PROBLEMS
from infra.constructs.api.rest_api import RestDeviceApi
from infra.constructs.platform_stack import PlatformStack
from infra.stages import settings_of, stage_from
from lambdas.authorizer.handler import authorize
from local.gateway.event import RESOURCES
from local.gateway.requests import refused
from local.gateway.rest_api import AuthorizerResult
from tests.infra.app_with_options import DOMAIN
from tests.infra.devices import DEVICES, device_token
from tests.infra.synthesis import Resource, Synthesized

pytestmark = pytest.mark.cdk


def _routes(stage: Synthesized) -> dict[tuple[str, str], Resource]:
    """The API's methods, by HTTP method and whole path."""
    resources = stage.resources("AWS::ApiGateway::Resource")

    def path_of(reference: Resource) -> str:
        if "Ref" not in reference:
            return ""
        properties = resources[reference["Ref"]]["Properties"]
        return f"{path_of(properties['ParentId'])}/{properties['PathPart']}"

    methods = [one["Properties"] for one in stage.resources("AWS::ApiGateway::Method").values()]
    return {(one["HttpMethod"], path_of(one["ResourceId"])): one for one in methods}


def test_the_routes_are_those_of_the_local_gateway(any_stage: Synthesized) -> None:
    assert set(_routes(any_stage)) == {(one.method, one.path) for one in RESOURCES}


def test_every_route_but_the_public_one_asks_the_authorizer(any_stage: Synthesized) -> None:
    kinds = {route: one["AuthorizationType"] for route, one in _routes(any_stage).items()}

    assert kinds == {
        (one.method, one.path): "NONE" if one.is_public else "CUSTOM" for one in RESOURCES
    }


def test_an_answer_of_the_authorizer_is_kept_for_its_token_alone(any_stage: Synthesized) -> None:
    [authorizer] = any_stage.resources("AWS::ApiGateway::Authorizer").values()

    assert authorizer["Properties"]["Type"] == "REQUEST"
    assert authorizer["Properties"]["IdentitySource"] == "method.request.header.Authorization"
    assert authorizer["Properties"]["AuthorizerResultTtlInSeconds"] == 300


def test_the_authorizers_kept_policy_covers_all_routes_of_the_stage(dev: Synthesized) -> None:
    routes = [(method, path.format(stream="gps")) for method, path in _routes(dev) if "{" in path]
    [stage] = dev.resources("AWS::ApiGateway::Stage").values()
    base = (
        f"arn:aws:execute-api:eu-central-1:123456789012:a1b2c3/{stage['Properties']['StageName']}"
    )
    asked = {
        "methodArn": f"{base}/POST/v1/streams/thermo",
        "headers": {"Authorization": f"Bearer {device_token()}"},
    }

    result = AuthorizerResult.of(authorize(asked, devices=DEVICES))

    assert len(routes) == 3
    assert all(result.allows(f"{base}/{method}{path}") for method, path in routes)


def test_every_body_is_binary(any_stage: Synthesized) -> None:
    [api] = any_stage.resources("AWS::ApiGateway::RestApi").values()

    assert api["Properties"]["BinaryMediaTypes"] == ["*/*"]


def test_every_route_has_its_share_of_the_stage_s_requests(any_stage: Synthesized) -> None:
    [stage] = any_stage.resources("AWS::ApiGateway::Stage").values()
    settings = {
        (one["HttpMethod"], one["ResourcePath"].replace("~1", "/")): one
        for one in stage["Properties"]["MethodSettings"]
    }
    whole = settings.pop(("*", "/*"))

    assert {(method, path[1:]) for method, path in settings} == set(_routes(any_stage))
    for limit in ("ThrottlingRateLimit", "ThrottlingBurstLimit"):
        shares = [one[limit] for one in settings.values()]
        assert 0.9 * whole[limit] <= sum(shares) <= whole[limit]
        assert min(shares) >= 1


def test_every_route_is_measured_and_its_failures_are_logged(cloud_stage: Synthesized) -> None:
    [stage] = cloud_stage.resources("AWS::ApiGateway::Stage").values()
    settings = stage["Properties"]["MethodSettings"]

    assert {(one["MetricsEnabled"], one["LoggingLevel"]) for one in settings} == {(True, "ERROR")}


def test_the_shares_of_all_routes_make_up_the_whole() -> None:
    assert sum(SHARES_PERCENT.values()) == 100


def test_logs_hold_neither_bodies_nor_tokens(cloud_stage: Synthesized) -> None:
    [stage] = cloud_stage.resources("AWS::ApiGateway::Stage").values()
    settings = stage["Properties"]["MethodSettings"]
    fields = json.loads(stage["Properties"]["AccessLogSetting"]["Format"])

    assert {one["DataTraceEnabled"] for one in settings} == {False}
    assert set(fields) <= {
        "requestId", "requestTime", "httpMethod", "resourcePath", "status", "responseLength",
        "ip", "user", "caller", "protocol",
    }  # fmt: skip
    assert "$context.identity" not in str(fields)


@pytest.mark.parametrize(
    ("kind", "tag"),
    [
        ("UNAUTHORIZED", ProblemTag.UNAUTHENTICATED),
        ("ACCESS_DENIED", ProblemTag.FORBIDDEN),
        ("REQUEST_TOO_LARGE", ProblemTag.TOO_LARGE),
        ("THROTTLED", ProblemTag.SLOW_DOWN),
        ("MISSING_AUTHENTICATION_TOKEN", ProblemTag.NO_ROUTE),
        ("DEFAULT_5XX", ProblemTag.TRY_LATER),
        ("INTEGRATION_TIMEOUT", ProblemTag.TRY_LATER),
        ("AUTHORIZER_FAILURE", ProblemTag.TRY_LATER),
    ],
)
def test_the_gateways_own_answers_are_those_of_the_local_gateway(
    dev: Synthesized, kind: str, tag: ProblemTag
) -> None:
    answers = [
        one["Properties"] for one in dev.resources("AWS::ApiGateway::GatewayResponse").values()
    ]
    [answer] = [one for one in answers if one["ResponseType"] == kind]
    headers = answer["ResponseParameters"]
    body = json.loads(answer["ResponseTemplates"]["application/json"])
    local = refused(tag, body["detail"])
    of_local = dict(local.headers or {})

    assert answer["StatusCode"] == str(int(local.status_code))
    assert body == json.loads(local.detail)
    assert headers["gatewayresponse.header.Content-Type"] == f"'{of_local['Content-Type']}'"
    again = headers.get("gatewayresponse.header.Retry-After")
    expected = of_local.get("Retry-After")
    assert again == (None if expected is None else f"'{expected}'")


def test_who_the_firewall_blocks_is_asked_to_slow_down_and_not_called_revoked(
    dev: Synthesized,
) -> None:
    answers = [
        one["Properties"] for one in dev.resources("AWS::ApiGateway::GatewayResponse").values()
    ]
    [answer] = [one for one in answers if one["ResponseType"] == "WAF_FILTERED"]

    assert answer["StatusCode"] == "429"
    assert answer["ResponseParameters"]["gatewayresponse.header.Retry-After"] == "'300'"


def test_no_answer_of_the_gateway_is_a_500() -> None:
    statuses = {tag.status for tag, _ in PROBLEMS.values()}

    assert HTTPStatus.INTERNAL_SERVER_ERROR not in statuses


def test_functions_that_call_kafka_run_in_private_subnets(cloud_stage: Synthesized) -> None:
    functions = cloud_stage.resources("AWS::Lambda::Function", of="ingest").values()
    placed = {one["Properties"]["Handler"]: "VpcConfig" in one["Properties"] for one in functions}

    assert placed == {
        "lambdas.ingest.start.handle": True,
        "lambdas.flow_activation.handler.handle": True,
        "lambdas.respool.handler.handle": True,
        "lambdas.authorizer.handler.handle": False,
        "lambdas.canary.handler.handle": False,
        "lambdas.uploads.handler.handle": False,
        "lambdas.uploads.handler.land": True,
        "lambdas.uploads.handler.sweep": True,
    }


def test_functions_run_on_arm_with_a_share_of_the_account_of_their_own(
    cloud_stage: Synthesized,
) -> None:
    functions = cloud_stage.resources("AWS::Lambda::Function", of="ingest").values()

    for function in functions:
        assert function["Properties"]["Architectures"] == ["arm64"]
        assert function["Properties"]["Runtime"] == "python3.13"
        assert function["Properties"]["ReservedConcurrentExecutions"] >= 1


def test_what_is_off_by_default_is_available(options: Synthesized) -> None:
    assert len(options.resources("AWS::EC2::NatGateway")) == 1
    assert len(options.resources("AWS::SNS::Subscription")) == 1


def test_a_name_of_our_own_asks_for_certificates_and_is_the_only_address() -> None:
    settings = settings_of("dev") | {"device_domain": DOMAIN, "has_firewall": True}
    stage = stage_from("dev", settings)
    stack = PlatformStack(App(), "names", stage=stage, description="an API")
    function = lambda_.Function.from_function_arn(
        stack, "Function", "arn:aws:lambda:eu-central-1:123456789012:function:any"
    )

    api = RestDeviceApi(
        stack,
        "Api",
        stage=stage,
        functions=ApiFunctions(ingest=function, uploads=function, authorizer=function),
    )

    made = Template.from_stack(stack)
    made.has_resource_properties(
        "AWS::ApiGateway::DomainName",
        {"MutualTlsAuthentication": {"TruststoreUri": DOMAIN.truststore_uri}},
    )
    made.has_resource_properties("AWS::ApiGateway::RestApi", {"DisableExecuteApiEndpoint": True})
    made.resource_count_is("AWS::WAFv2::WebACLAssociation", 1)
    assert api.url == "https://devices.example.com/"


@pytest.mark.parametrize(
    ("kind", "template_type", "domain_type"),
    [
        (RestDeviceApi, "AWS::ApiGateway::RestApi", "AWS::ApiGateway::DomainName"),
        (HttpDeviceApi, "AWS::ApiGatewayV2::Api", "AWS::ApiGatewayV2::DomainName"),
    ],
)
def test_until_all_devices_have_moved_both_addresses_answer(
    kind: type[RestDeviceApi | HttpDeviceApi], template_type: str, domain_type: str
) -> None:
    stage = stage_from(
        "dev", settings_of("dev") | {"device_domain": replace(DOMAIN, keeps_default_address=True)}
    )
    stack = PlatformStack(App(), "names", stage=stage, description="an API")
    function = lambda_.Function.from_function_arn(
        stack, "Function", "arn:aws:lambda:eu-central-1:123456789012:function:any"
    )
    functions = ApiFunctions(ingest=function, uploads=function, authorizer=function)

    api: Any = kind(stack, "Api", stage=stage, functions=functions)

    made = Template.from_stack(stack)
    trusted = {"TruststoreUri": DOMAIN.truststore_uri}
    made.has_resource_properties(domain_type, {"MutualTlsAuthentication": trusted})
    made.has_resource_properties(template_type, {"DisableExecuteApiEndpoint": False})
    assert api.url == api.own_url
    assert stage.has_canary


def test_prod_has_a_firewall_and_traces_few_of_its_requests(prod: Synthesized) -> None:
    [stage] = prod.resources("AWS::ApiGateway::Stage").values()
    [rule] = prod.resources("AWS::XRay::SamplingRule").values()
    functions = prod.resources("AWS::Lambda::Function", of="ingest").values()
    traced = {
        one["Properties"]["Handler"] for one in functions if "TracingConfig" in one["Properties"]
    }

    assert len(prod.resources("AWS::WAFv2::WebACLAssociation")) == 1
    assert stage["Properties"]["TracingEnabled"] is True
    assert rule["Properties"]["SamplingRule"]["ServiceName"] == "fleetlane-prod/live"
    assert rule["Properties"]["SamplingRule"]["FixedRate"] == 0.001
    assert traced == {
        "lambdas.authorizer.handler.handle",
        "lambdas.ingest.start.handle",
        "lambdas.uploads.handler.handle",
    }


def test_functions_that_devices_call_log_no_line_of_lambdas_own_for_each_call(
    cloud_stage: Synthesized,
) -> None:
    functions = cloud_stage.resources("AWS::Lambda::Function", of="ingest").values()

    quiet = {
        one["Properties"]["Handler"]
        for one in functions
        if one["Properties"]["LoggingConfig"].get("SystemLogLevel") == "WARN"
    }

    assert quiet == {
        "lambdas.authorizer.handler.handle",
        "lambdas.ingest.start.handle",
        "lambdas.uploads.handler.handle",
    }
