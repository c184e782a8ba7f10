"""The roles of GitHub's workflows: whose they are, and how little they may do."""

import json
from typing import Any

import pytest

from tests.infra.synthesis import Synthesized

pytestmark = pytest.mark.cdk

ISSUER = "token.actions.githubusercontent.com"


def roles(stage: Synthesized) -> dict[str, Any]:
    return {
        name.rstrip("0123456789ABCDEF"): role
        for name, role in stage.resources("AWS::IAM::Role", of="pipeline").items()
    }


def statements(stage: Synthesized, role: str) -> list[Any]:
    policies = stage.resources("AWS::IAM::Policy", of="pipeline").values()
    return [
        statement
        for policy in policies
        if role in json.dumps(policy["Properties"]["Roles"])
        for statement in policy["Properties"]["PolicyDocument"]["Statement"]
    ]


def test_no_stage_has_a_pipeline_unless_it_names_a_repository(cloud_stage: Synthesized) -> None:
    assert "pipeline" not in cloud_stage.templates


@pytest.mark.parametrize(
    ("role", "environment"), [("Deploys", "options"), ("Reads", "options-read")]
)
def test_a_role_is_for_one_environment_of_one_repository(
    options: Synthesized, role: str, environment: str
) -> None:
    [trust] = roles(options)[role]["Properties"]["AssumeRolePolicyDocument"]["Statement"]

    assert trust["Action"] == "sts:AssumeRoleWithWebIdentity"
    assert trust["Condition"] == {
        "StringEquals": {
            f"{ISSUER}:aud": "sts.amazonaws.com",
            f"{ISSUER}:sub": f"repo:acme/fleetlane:environment:{environment}",
        }
    }


def test_who_reads_may_assume_the_role_for_look_ups_and_no_more(options: Synthesized) -> None:
    [only] = statements(options, "Reads")

    assert only["Action"] == "sts:AssumeRole"
    assert "cdk-hnb659fds-lookup-role-" in json.dumps(only["Resource"])
    assert "deploy" not in json.dumps(only["Resource"])


def test_who_verifies_may_write_one_item_of_the_registry_and_nothing_else(
    options: Synthesized,
) -> None:
    changing = [
        statement
        for statement in statements(options, "Deploys")
        if any(word in json.dumps(statement["Action"]) for word in ("Put", "Delete", "Update"))
    ]

    [only] = changing
    assert sorted(only["Action"]) == ["dynamodb:DeleteItem", "dynamodb:PutItem"]
    assert only["Condition"] == {
        "ForAllValues:StringEquals": {"dynamodb:LeadingKeys": ["fleetlane-verify"]}
    }
