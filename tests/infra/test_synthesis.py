import importlib
import json

import pytest

from infra.artifacts.folder import entry_of
from tests.infra.conftest import REAL_STAGES, Begun
from tests.infra.synthesis import FUNCTIONS, ROOT, Synthesized

pytestmark = pytest.mark.cdk

ON_LOCALSTACK = {
    "AWS::ApiGateway::Authorizer",  # by our plug-in, as custom resources are
    "AWS::ApiGateway::Deployment",
    "AWS::ApiGateway::GatewayResponse",
    "AWS::ApiGateway::Method",
    "AWS::ApiGateway::Resource",
    "AWS::ApiGateway::RestApi",
    "AWS::ApiGateway::Stage",
    "AWS::DynamoDB::Table",
    "AWS::Events::Rule",
    "AWS::IAM::Policy",
    "AWS::IAM::Role",
    "AWS::Lambda::EventInvokeConfig",
    "AWS::Lambda::EventSourceMapping",
    "AWS::Lambda::Function",
    "AWS::Lambda::Permission",
    "AWS::Logs::LogGroup",
    "AWS::S3::Bucket",
    "AWS::S3::BucketPolicy",
    "AWS::SQS::Queue",
    "AWS::SQS::QueuePolicy",
    "AWS::SSM::Parameter",
    "Custom::EmptiedBucket",
}

RUN_WITH = {  # seconds to import, each of them: a deploy would wait for them, or for their install
    *("boto3", "botocore", "confluent_kafka", "httpx"),
    *("duckdb", "numpy", "pandas", "pyarrow", "pyiceberg", "pyspark"),
    *("clients", "glue_jobs", "lambdas", "local", "operations"),
}


def test_a_stage_is_synthesized_without_what_its_code_runs_with(any_stage: Synthesized) -> None:
    unwanted = any_stage.imported & RUN_WITH

    assert "aws_cdk" in any_stage.imported
    assert unwanted == set()


def test_a_stage_in_aws_has_the_six_stacks(cloud_stage: Synthesized) -> None:
    stacks = set(cloud_stage.templates)

    assert stacks == {"network", "storage", "streaming", "ingest", "processing", "watching"}


def test_the_local_stage_holds_only_what_localstack_knows(local: Synthesized) -> None:
    kinds = {resource["Type"] for _, _, resource in local.all_resources()}

    assert set(local.templates) == {"storage", "ingest"}
    assert kinds <= ON_LOCALSTACK


def test_no_stack_comes_near_the_limit_of_500_resources(any_stage: Synthesized) -> None:
    assert max(len(one["Resources"]) for one in any_stage.templates.values()) < 400


def test_cdk_nag_has_looked_and_found_nothing_unexplained(cloud_stage: Synthesized) -> None:
    report = json.loads((cloud_stage.folder / "validation-report.json").read_text())
    verdicts = {one["pluginName"]: one for one in report["pluginReports"]}

    assert verdicts["AwsSolutions"]["conclusion"] == "success"
    assert verdicts["AwsSolutions"]["violations"] == []


@pytest.mark.parametrize("name", REAL_STAGES)
def test_cfn_lint_finds_nothing(begun: Begun, name: str) -> None:
    assert begun.lints[name].result() == ""


def test_every_function_has_its_entry_point(any_stage: Synthesized) -> None:
    functions = any_stage.resources("AWS::Lambda::Function", of="ingest").values()
    handlers = {one["Properties"]["Handler"] for one in functions}

    entries = (*FUNCTIONS, "upload_landing", "upload_sweep")
    elsewhere = {entry_of(name) for name in ("canary", "job_restarts")}
    assert handlers | elsewhere == {entry_of(name) for name in entries}
    for handler in handlers - {entry_of("ingest")}:  # which connects as it is imported
        module, _, name = handler.rpartition(".")
        assert callable(getattr(importlib.import_module(module), name))


def test_the_script_that_the_engines_start_is_there() -> None:
    assert (ROOT / "glue_jobs" / "host.py").is_file()


def test_the_same_input_gives_the_same_templates(begun: Begun, dev: Synthesized) -> None:
    assert begun.again.result().templates == dev.templates
