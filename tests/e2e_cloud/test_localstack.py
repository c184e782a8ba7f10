"""What our plug-in adds to LocalStack behaves as AWS does."""

from dataclasses import replace
from typing import Any

import boto3
import orjson
import pytest
from botocore.exceptions import WaiterError

from local.cloud.local_cloud import LocalCloud
from tests.e2e_cloud.trial import HttpsDevice

pytestmark = [pytest.mark.localstack, pytest.mark.kafka, pytest.mark.spark]

LONG_WINDED = """
def handle(event, context):
    return "x" * event["bytes"]
"""

FUNCTION = {
    "Role": {
        "Type": "AWS::IAM::Role",
        "Properties": {"AssumeRolePolicyDocument": {"Version": "2012-10-17", "Statement": []}},
    },
    "Function": {
        "Type": "AWS::Lambda::Function",
        "Properties": {
            "Runtime": "python3.13",
            "Handler": "index.handle",
            "Code": {"ZipFile": LONG_WINDED},
            "Role": {"Fn::GetAtt": ["Role", "Arn"]},
            "Timeout": 10,
        },
    },
}


def cloud_formation(cloud: LocalCloud) -> Any:
    return boto3.client("cloudformation", **cloud.aws_settings)


def make_stack(
    client: Any, name: str, resources: dict[str, Any], outputs: dict[str, Any] | None = None
) -> None:
    template = {"Resources": resources, "Outputs": outputs or {}}
    client.create_stack(
        StackName=name,
        TemplateBody=orjson.dumps(template).decode(),
        Capabilities=["CAPABILITY_IAM"],
    )
    client.get_waiter("stack_create_complete").wait(StackName=name, WaiterConfig={"Delay": 1})


def test_an_answer_of_a_function_that_lambda_would_not_take_is_an_error(cloud: LocalCloud) -> None:
    client = cloud_formation(cloud)
    make_stack(client, "long", FUNCTION, {"Name": {"Value": {"Ref": "Function"}}})
    [stack] = client.describe_stacks(StackName="long")["Stacks"]
    functions = boto3.client("lambda", **cloud.aws_settings)

    answer = functions.invoke(
        FunctionName=stack["Outputs"][0]["OutputValue"], Payload=orjson.dumps({"bytes": 7_000_000})
    )

    assert orjson.loads(answer["Payload"].read())["errorType"] == "Function.ResponseSizeTooLarge"


def test_a_resource_that_nothing_here_makes_ends_the_deploy(cloud: LocalCloud) -> None:
    client = cloud_formation(cloud)
    cluster = {"Type": "AWS::MSK::Cluster", "Properties": {"ClusterName": "c"}}

    with pytest.raises(WaiterError):
        make_stack(client, "unsupported", {"Cluster": cluster})

    [stack] = client.describe_stacks(StackName="unsupported")["Stacks"]
    assert "AWS::MSK::Cluster" in stack["StackStatusReason"]


def test_a_body_that_lambda_would_not_take_is_too_large(cloud: LocalCloud) -> None:
    device = HttpsDevice.registered(cloud.api_url, cloud.registry)

    answer = device.post("weather", bytes(5_000_000))

    assert (answer.status_code, answer.json()["type"]) == (413, "urn:fleetlane:problem:too_large")


def test_the_gateway_answers_by_itself_as_the_stage_says(cloud: LocalCloud) -> None:
    device = HttpsDevice.registered(cloud.api_url, cloud.registry)
    stranger = replace(device, token=device.token[:-1])

    answer = stranger.post("weather", b"")

    assert (answer.status_code, answer.headers["Content-Type"], answer.json()["type"]) == (
        401,
        "application/problem+json",
        "urn:fleetlane:problem:unauthenticated",
    )
