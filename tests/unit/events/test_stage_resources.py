import json

import pytest

from fleetlane.events.job_arguments import KafkaSecurity
from fleetlane.events.stage_resources import BadStageResourcesError, StageResources, parameter_name

DEV = StageResources(
    stage="dev",
    region="eu-central-1",
    api_url="https://a1b2.execute-api.eu-central-1.amazonaws.com/v/",
    kafka_bootstrap_servers="b-1.example:9098,b-2.example:9098",
    kafka_security=KafkaSecurity.IAM,
    devices_table="devices",
    flows_bucket="artifacts",
    overrides_bucket="artifacts",
    payload_bucket="payloads",
    parked_bucket="parked",
    lake_bucket="lake",
    flow_activation_function="activation",
)


def test_resources_survive_being_written_as_json() -> None:
    assert StageResources.from_json(DEV.to_json()) == DEV


def test_a_field_of_a_newer_deploy_is_ignored() -> None:
    newer = json.dumps({**json.loads(DEV.to_json()), "future_bucket": "future"})

    assert StageResources.from_json(newer) == DEV


@pytest.mark.parametrize("text", ["", "[]", '{"stage": "dev"}', DEV.to_json().replace("iam", "x")])
def test_what_describes_no_stage_is_refused_in_one_sentence(text: str) -> None:
    with pytest.raises(BadStageResourcesError, match=r"^the stage's resources cannot be read: "):
        StageResources.from_json(text)


def test_each_stage_has_a_parameter_of_its_own() -> None:
    assert parameter_name("dev") == "/fleetlane/dev/resources"
