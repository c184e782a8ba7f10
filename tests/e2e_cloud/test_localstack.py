"""What our plug-in adds to LocalStack behaves as AWS does."""

from dataclasses import replace
from typing import Any

import boto3
import orjson
import pytest
from aws_cdk import App, CfnOutput, RemovalPolicy
from aws_cdk import aws_s3 as s3
from aws_cdk.assertions import Template
from botocore.exceptions import WaiterError

from infra.constructs.platform_stack import PlatformStack
from infra.constructs.stores.stores import EmptiedBuckets
from infra.stages import settings_of, stage_from
from local.cloud.local_cloud import LocalCloud
from tests.e2e_cloud.trial import HttpsDevice, registry_of

pytestmark = [pytest.mark.localstack, pytest.mark.kafka, pytest.mark.spark]

ANSWERING = """
import json, urllib.request

def handle(event, context):
    if "ResponseURL" not in event:
        return "x" * event["bytes"]
    words = event["ResourceProperties"]["Words"]
    answer = {"Status": "SUCCESS", "PhysicalResourceId": "it", "Data": {"Said": " ".join(words)}}
    request = urllib.request.Request(
        event["ResponseURL"], data=json.dumps(answer).encode(), method="PUT"
    )
    urllib.request.urlopen(request)
"""
"""Takes part in CloudFormation's protocol of custom resources."""

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
            "Code": {"ZipFile": ANSWERING},
            "Role": {"Fn::GetAtt": ["Role", "Arn"]},
            "Timeout": 10,
        },
    },
}


@pytest.fixture(scope="module")
def outputs(cloud: LocalCloud) -> dict[str, str]:
    """Of a stack with a custom resource and the function behind it."""
    custom = {
        "Type": "Custom::Sentence",
        "Properties": {
            "ServiceToken": {"Fn::GetAtt": ["Function", "Arn"]},
            "Words": ["made", "by", "hand"],
        },
    }
    outputs = {
        "Said": {"Value": {"Fn::GetAtt": ["Sentence", "Said"]}},
        "Function": {"Value": {"Ref": "Function"}},
    }
    client = cloud_formation(cloud)
    make_stack(client, "custom", FUNCTION | {"Sentence": custom}, outputs)
    [stack] = client.describe_stacks(StackName="custom")["Stacks"]
    return {output["OutputKey"]: output["OutputValue"] for output in stack["Outputs"]}


def cloud_formation(cloud: LocalCloud) -> Any:
    return boto3.client("cloudformation", **cloud.aws.client_settings)


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


def test_a_custom_resource_is_made_by_its_function(outputs: dict[str, str]) -> None:
    said = outputs["Said"]

    assert said == "made by hand"


def test_an_answer_of_a_function_that_lambda_would_not_take_is_an_error(
    cloud: LocalCloud, outputs: dict[str, str]
) -> None:
    functions = boto3.client("lambda", **cloud.aws.client_settings)

    answer = functions.invoke(
        FunctionName=outputs["Function"], Payload=orjson.dumps({"bytes": 7_000_000})
    )

    assert orjson.loads(answer["Payload"].read())["errorType"] == "Function.ResponseSizeTooLarge"


@pytest.fixture(scope="module")
def with_bucket() -> dict[str, Any]:
    """The template of a stack with a versioned bucket that goes with it."""
    local = stage_from("local", settings_of("local"))
    stack = PlatformStack(App(), "with-bucket", stage=local, description="a bucket")
    bucket = s3.Bucket(
        stack, "Bucket", versioned=True, enforce_ssl=True, removal_policy=RemovalPolicy.DESTROY
    )
    CfnOutput(stack, "Name", value=bucket.bucket_name)
    EmptiedBuckets(stack, "Emptied").add(bucket)
    template = Template.from_stack(stack).to_json()
    return {name: template[name] for name in ("Resources", "Outputs")}


def filled_bucket(cloud: LocalCloud, stack: str, template: dict[str, Any]) -> str:
    """The bucket of a new stack, with a replaced and a deleted object."""
    client = cloud_formation(cloud)
    make_stack(client, stack, template["Resources"], template["Outputs"])
    [made] = client.describe_stacks(StackName=stack)["Stacks"]
    [bucket] = [one["OutputValue"] for one in made["Outputs"]]
    for key in ("replaced", "replaced", "deleted"):
        cloud.s3.put_object(Bucket=bucket, Key=key, Body=b"")
    cloud.s3.delete_object(Bucket=bucket, Key="deleted")
    return str(bucket)


def test_a_bucket_that_its_stage_does_not_keep_goes_with_all_that_it_holds(
    cloud: LocalCloud, with_bucket: dict[str, Any]
) -> None:
    client = cloud_formation(cloud)
    bucket = filled_bucket(cloud, "destroyed", with_bucket)

    client.delete_stack(StackName="destroyed")
    client.get_waiter("stack_delete_complete").wait(
        StackName="destroyed", WaiterConfig={"Delay": 1}
    )

    assert bucket not in {one["Name"] for one in cloud.s3.list_buckets()["Buckets"]}


def test_a_bucket_whose_stage_keeps_it_from_now_on_is_not_emptied(
    cloud: LocalCloud, with_bucket: dict[str, Any]
) -> None:
    client = cloud_formation(cloud)
    bucket = filled_bucket(cloud, "kept", with_bucket)
    kept = {
        name: one
        for name, one in with_bucket["Resources"].items()
        if one["Type"] != "Custom::EmptiedBucket"
    }

    client.update_stack(
        StackName="kept",
        TemplateBody=orjson.dumps(with_bucket | {"Resources": kept}).decode(),
        Capabilities=["CAPABILITY_IAM"],
    )
    client.get_waiter("stack_update_complete").wait(StackName="kept", WaiterConfig={"Delay": 1})

    assert len(cloud.s3.list_object_versions(Bucket=bucket)["Versions"]) == 3


def test_a_resource_that_nothing_here_makes_ends_the_deploy(cloud: LocalCloud) -> None:
    client = cloud_formation(cloud)
    cluster = {"Type": "AWS::MSK::Cluster", "Properties": {"ClusterName": "c"}}

    with pytest.raises(WaiterError):
        make_stack(client, "unsupported", {"Cluster": cluster})

    [stack] = client.describe_stacks(StackName="unsupported")["Stacks"]
    assert "AWS::MSK::Cluster" in stack["StackStatusReason"]


def test_a_body_that_lambda_would_not_take_is_too_large(cloud: LocalCloud) -> None:
    device = HttpsDevice.registered(cloud.api_url, registry_of(cloud))

    answer = device.post("weather", bytes(5_000_000))

    assert (answer.status_code, answer.json()["type"]) == (413, "urn:fleetlane:problem:too_large")


def test_the_gateway_answers_by_itself_as_the_stage_says(cloud: LocalCloud) -> None:
    device = HttpsDevice.registered(cloud.api_url, registry_of(cloud))
    stranger = replace(device, token=device.token[:-1])

    answer = stranger.post("weather", b"")

    assert (answer.status_code, answer.headers["Content-Type"], answer.json()["type"]) == (
        401,
        "application/problem+json",
        "urn:fleetlane:problem:unauthenticated",
    )
