"""A deploy writes the names that operators' commands need, as one SSM parameter a stage."""

import json
import re
from typing import Any

import pytest

from fleetlane.events.job_arguments import KafkaSecurity
from fleetlane.events.stage_resources import StageResources, parameter_name
from tests.infra.conftest import LOCAL_KAFKA
from tests.infra.synthesis import Resource, Synthesized

pytestmark = pytest.mark.cdk


def written(stage: Synthesized) -> tuple[Resource, StageResources]:
    """The parameter, and its value with the logical id in place of each name."""
    (parameter,) = stage.resources("AWS::SSM::Parameter").values()
    properties = parameter["Properties"]
    return properties, StageResources.from_json(_text(properties["Value"]))


def _text(value: Any) -> str:
    match value:
        case {"Fn::Join": [str(between), parts]}:
            return between.join(map(_text, parts))
        case str(text):
            return text
        case _:
            return re.sub(r"\W+", " ", json.dumps(value)).strip()


def test_the_parameter_describes_the_stage_that_it_is_named_for(any_stage: Synthesized) -> None:
    stacks = any_stage.folder.glob("*.template.json")

    parameter, resources = written(any_stage)

    assert parameter["Type"] == "String"
    assert parameter["Name"] == parameter_name(resources.stage)
    assert resources.stage in {path.name.split("-")[1] for path in stacks}
    assert resources.region == "eu-central-1"


def test_every_name_is_that_of_the_resource_it_is_meant_for(any_stage: Synthesized) -> None:
    _, resources = written(any_stage)

    assert "Registry" in resources.devices_table
    assert "Artifacts" in resources.flows_bucket
    assert "Artifacts" in resources.overrides_bucket
    assert "Payloads" in resources.payload_bucket
    assert "Parked" in resources.parked_bucket
    assert "Lake" in resources.lake_bucket
    assert "flowactivation" in resources.flow_activation_function
    assert resources.api_url.startswith("https://")


def test_in_aws_commands_reach_kafka_by_iam(cloud_stage: Synthesized) -> None:
    _, resources = written(cloud_stage)

    assert resources.kafka_security is KafkaSecurity.IAM
    assert "BootstrapServers" in resources.kafka_bootstrap_servers


def test_the_local_stage_names_the_laptops_own_broker(local: Synthesized) -> None:
    _, resources = written(local)

    assert resources.kafka_security is KafkaSecurity.PLAINTEXT
    assert resources.kafka_bootstrap_servers == LOCAL_KAFKA
