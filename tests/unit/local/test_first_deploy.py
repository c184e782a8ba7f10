"""A stage that keeps data is protected once it is whole, without a deploy by hand."""

import subprocess
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from moto import mock_aws

from fleetlane.events.stage_resources import parameter_name
from infra.stages import settings_of, stage_from
from local.checkout import ROOT
from local.first_deploy import words_for
from operations.platform import StageUnavailableError
from tests.deployed_stage import use_region

PROD = stage_from("prod", settings_of("prod"))


@pytest.fixture(autouse=True)
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    use_region(monkeypatch)
    with mock_aws():
        yield boto3.client("ssm", region_name=PROD.region)


def test_the_first_deploy_of_what_keeps_data_protects_nothing() -> None:
    assert words_for(PROD) == "-c first=true"


@pytest.mark.parametrize("written", ["{}", "of another version"])
def test_a_stage_that_is_there_stays_protected_all_the_time(aws: Any, written: str) -> None:
    aws.put_parameter(Name=parameter_name("prod"), Type="String", Value=written)

    assert words_for(PROD) == ""


def test_what_keeps_no_data_is_never_protected() -> None:
    assert words_for(stage_from("dev", settings_of("dev"))) == ""


def test_nothing_is_deployed_where_aws_does_not_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_SSM", "http://127.0.0.1:9")

    with pytest.raises(StageUnavailableError):
        words_for(PROD)


def test_make_protects_by_a_second_deploy_right_behind_the_first() -> None:
    said = subprocess.run(
        ["/usr/bin/env", "make", "--dry-run", "deploy", "STAGE=prod"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout

    first, second = [line for line in said.splitlines() if "cdk -c stage=prod deploy --all" in line]
    assert "local.first_deploy prod" in first
    assert first.rstrip("; }").endswith("$words")
    assert "first" not in second
