"""Only what must have a name of its own has one, and it says the stage: so two never collide."""

import json
import re
from collections.abc import Iterator

import pytest

from tests.infra.synthesis import Synthesized

pytestmark = pytest.mark.cdk

NAMED = {
    "AWS::ApiGateway::Authorizer": "a part of its API",
    "AWS::ApiGateway::RestApi": "no key: an account may have two of a name",
    "AWS::ApiGateway::Stage": "a part of its API, and of its address",
    "AWS::CloudWatch::Alarm": "people read it in mails, and look it up in docs/alarms.md",
    "AWS::CloudWatch::Dashboard": "people look for it by the stage",
    "AWS::EMRServerless::Application": "no key; a deploy stops it before its id is known",
    "AWS::Glue::Database": "operators and analysts query it by name",
    "AWS::Glue::Connection": "the job's role may use this one alone",
    "AWS::Glue::Job": "the rule of its end is made before it, and rights name it",
    "AWS::Glue::SecurityConfiguration": "CloudFormation demands it",
    "AWS::IAM::Policy": "a part of its role",
    "AWS::Logs::LogGroup": "Glue finds them by the name of its job; of services it is a prefix",
    "AWS::MSK::Cluster": "alarms name it before it is made",
    "AWS::MSK::Configuration": "CloudFormation demands it",
    "AWS::MSK::Topic": "a part of its cluster, whose clients know it by its name",
    "AWS::SSM::Parameter": "operators' commands know nothing else of a stage",
}
VENDING = ("AWS::ApiGatewayV2::Stage", "AWS::MSK::Cluster", "AWS::StepFunctions::StateMachine")
PATTERNS = {
    "namespace": r'\bFleetlane(?:/\w+)?(?=[\\\\" ])',
    "database": r"(?:lake_database[\\\\'\": ]+|:table/)(\w+)",
}
PART_OF_ANOTHER = ("AWS::ApiGateway::", "AWS::IAM::Policy", "AWS::MSK::Topic")


def _named(stage: Synthesized) -> Iterator[tuple[str, str]]:
    """Types and names of all resources with a name that is written in the template."""
    for _, _, resource in stage.all_resources():
        kind = resource["Type"]
        own = kind.rsplit("::", 1)[1]
        inner = resource.get("Properties", {})
        inner = inner | inner.get("ConnectionInput", {}) | inner.get("DatabaseInput", {})
        for key in (
            "Name",
            f"{own}Name",
            "ParameterName",
            "QueueName",
            "AlarmName",
            "LogGroupName",
        ):
            if isinstance(inner.get(key), str):
                yield kind, inner[key]


def test_what_has_a_name_of_its_own_has_a_reason(cloud_stage: Synthesized) -> None:
    assert {kind for kind, _ in _named(cloud_stage)} <= NAMED.keys()


def test_every_name_in_an_account_says_the_stage(dev: Synthesized) -> None:
    unsaid = {
        (kind, name)
        for kind, name in _named(dev)
        if "dev" not in name and not kind.startswith(PART_OF_ANOTHER)
    }

    assert unsaid == set()


def test_what_services_of_aws_log_by_themselves_is_in_groups_of_one_prefix(
    cloud_stage: Synthesized,
) -> None:
    groups = cloud_stage.resources("AWS::Logs::LogGroup")
    of_writers = (one for kind in VENDING for one in cloud_stage.resources(kind).values())
    text = json.dumps([one["Properties"] for one in of_writers])
    written = [one["Properties"] for name, one in groups.items() if f'"{name}"' in text]

    assert len(written) >= 2
    names = {one["LogGroupName"] for one in written}
    assert all(one.startswith("/aws/vendedlogs/") for one in names)


def _of_account(stage: Synthesized) -> Iterator[tuple[str, str]]:
    """What a stage has that another in its account and region could have, too."""
    yield from (one for one in _named(stage) if not one[0].startswith(PART_OF_ANOTHER))
    for template in stage.templates.values():
        for output in template.get("Outputs", {}).values():
            if "Export" in output:
                yield "export", json.dumps(output["Export"]["Name"])
    text = json.dumps(stage.templates)
    for kind, pattern in PATTERNS.items():
        yield from ((kind, found) for found in re.findall(pattern, text))
    for function in stage.resources("AWS::Lambda::Function").values():
        variables = function["Properties"].get("Environment", {}).get("Variables", {})
        if "AUDIENCES" in variables:
            yield from (("audience", one) for one in variables["AUDIENCES"].split(","))


def test_two_stages_in_an_account_share_nothing(
    dev: Synthesized, staging: Synthesized, prod: Synthesized
) -> None:
    of = {name: set(_of_account(one)) for name, one in {"dev": dev, "staging": staging}.items()}
    of["prod"] = set(_of_account(prod))

    kinds = {name: {kind for kind, _ in found} for name, found in of.items()}
    assert all(one >= {"export", "namespace", "database", "audience"} for one in kinds.values())
    assert of["dev"] & of["staging"] == set()
    assert of["dev"] & of["prod"] == set()
    assert of["staging"] & of["prod"] == set()


def test_a_stage_has_one_database_one_namespace_and_one_audience(cloud_stage: Synthesized) -> None:
    found = set(_of_account(cloud_stage))

    for kind in ("database", "namespace", "audience"):
        assert len({name for its, name in found if its == kind if name}) == 1
