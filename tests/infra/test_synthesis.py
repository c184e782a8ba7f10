import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from infra.artifacts_folder import entry_of
from tests.infra.synthesis import FUNCTIONS, ROOT, SYNTH_LIMIT_S, Synthesized, run_app, synthesized

pytestmark = pytest.mark.cdk

LINT_EXCEPTIONS = (
    "W3005",  # CDK writes every dependency out, those that follow from a reference too
    "W3010",  # zones are given, so that synthesis needs no look-up
)
ON_LOCALSTACK = {
    "AWS::ApiGateway::Authorizer",  # by our plug-in
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
    "AWS::Lambda::EventSourceMapping",
    "AWS::Lambda::Function",
    "AWS::Lambda::Permission",
    "AWS::Logs::LogGroup",
    "AWS::S3::Bucket",
    "AWS::S3::BucketPolicy",
    "AWS::SQS::Queue",
    "AWS::SQS::QueuePolicy",
}


def test_a_stage_is_synthesized_within_a_minute(any_stage: Synthesized) -> None:
    assert any_stage.seconds < SYNTH_LIMIT_S


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


def test_cfn_lint_finds_nothing(any_stage: Synthesized) -> None:
    templates = sorted(any_stage.folder.glob("*.template.json"))

    lint = subprocess.run(
        [
            str(Path(sys.executable).parent / "cfn-lint"),
            *("--regions", "eu-central-1", "--ignore-checks", *LINT_EXCEPTIONS, "--template"),
            *map(str, templates),
        ],
        capture_output=True,
        text=True,
        check=False,
    )

    assert lint.stdout + lint.stderr == ""


def test_every_function_has_its_entry_point(any_stage: Synthesized) -> None:
    functions = any_stage.resources("AWS::Lambda::Function", of="ingest").values()
    handlers = {one["Properties"]["Handler"] for one in functions}

    entries = (*FUNCTIONS, "upload_landing", "upload_sweep")
    assert handlers == {entry_of(name).path for name in entries}
    for handler in handlers:
        module, _, name = handler.rpartition(".")
        assert callable(getattr(importlib.import_module(module), name))


def test_the_script_that_the_engines_start_is_there() -> None:
    assert (ROOT / "glue_jobs" / "host.py").is_file()


def test_the_same_input_gives_the_same_templates(
    dev: Synthesized, artifacts_folder: Path, tmp_path: Path
) -> None:
    run_app({"stage": "dev", "artifacts": str(artifacts_folder)}, tmp_path)

    assert synthesized(tmp_path, seconds=0).templates == dev.templates
