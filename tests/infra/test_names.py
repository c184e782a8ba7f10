"""Only what must have a name of its own has one, and it says the stage: so two never collide."""

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
    "AWS::Glue::Connection": "the job's role may use this one alone",
    "AWS::Glue::Job": "the rule of its end is made before it, and rights name it",
    "AWS::Glue::SecurityConfiguration": "CloudFormation demands it",
    "AWS::IAM::Policy": "a part of its role",
    "AWS::Logs::LogGroup": "Glue finds them by the name of its job",
    "AWS::MSK::Cluster": "alarms name it before it is made",
    "AWS::MSK::Configuration": "CloudFormation demands it",
    "AWS::MSK::Topic": "a part of its cluster, whose clients know it by its name",
    "AWS::SSM::Parameter": "operators' commands know nothing else of a stage",
}
PART_OF_ANOTHER = ("AWS::ApiGateway::", "AWS::IAM::Policy", "AWS::MSK::Topic")


def _named(stage: Synthesized) -> Iterator[tuple[str, str]]:
    """Types and names of all resources with a name that is written in the template."""
    for _, _, resource in stage.all_resources():
        kind = resource["Type"]
        own = kind.rsplit("::", 1)[1]
        inner = resource.get("Properties", {})
        inner = inner | inner.get("ConnectionInput", {})
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


def test_two_stages_have_no_name_in_common(dev: Synthesized, prod: Synthesized) -> None:
    both = set(_named(dev)) & set(_named(prod))

    assert {one for one in both if not one[0].startswith(PART_OF_ANOTHER)} == set()
