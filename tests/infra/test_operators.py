"""The operators' machine: who reaches it, what it may do, and its code, run as it is deployed."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fleetlane.cli.near_kafka import run_near_kafka
from fleetlane.events.stage_resources import OperatorHost
from fleetlane.parsers.artifacts.building import Platform
from infra.artifacts.archive import source_contents, uv_of, wheel_contents
from infra.artifacts.build import OPERATORS_CODE, build_wheels
from infra.artifacts.folder import OPERATORS
from infra.artifacts.jobs import write_environment
from tests.fake_aws_cli import put_on_path
from tests.infra.synthesis import ROOT, Synthesized

pytestmark = pytest.mark.cdk

HOME = "/opt/fleetlane"


def only(stage: Synthesized, kind: str) -> Any:
    [found] = stage.resources(kind, of="operators").values()
    return found["Properties"]


def statements(stage: Synthesized) -> list[Any]:
    return list(only(stage, "AWS::IAM::Policy")["PolicyDocument"]["Statement"])


def session_command(stage: Synthesized) -> str:
    return str(only(stage, "AWS::SSM::Document")["Content"]["properties"]["linux"]["commands"])


def test_a_stage_has_no_machine_for_operators_unless_it_says_so(cloud_stage: Synthesized) -> None:
    groups = cloud_stage.resources("AWS::EC2::SecurityGroup").values()

    assert "operators" not in cloud_stage.templates
    assert cloud_stage.resources("AWS::EC2::Instance") == {}
    assert not any("operators" in json.dumps(one) for one in groups)


def test_nothing_can_connect_to_the_machine(options: Synthesized) -> None:
    network = options.templates["network"]["Resources"]
    [(name, group)] = [(n, one) for n, one in network.items() if n.startswith("OperatorsGroup")]
    into = [one for one in network.values() if one["Type"] == "AWS::EC2::SecurityGroupIngress"]

    machine = only(options, "AWS::EC2::Instance")

    assert "SecurityGroupIngress" not in group["Properties"]
    assert not any(name in json.dumps(one["Properties"]["GroupId"]) for one in into)
    assert "KeyName" not in machine
    assert "privateSubnet1" in json.dumps(machine["SubnetId"])


def test_brokers_and_endpoints_let_the_machine_in(options: Synthesized) -> None:
    rules = options.resources("AWS::EC2::SecurityGroupIngress", of="network").values()

    ports = {
        one["Properties"]["FromPort"]
        for one in rules
        if "OperatorsGroup" in json.dumps(one["Properties"].get("SourceSecurityGroupId"))
    }

    assert ports == {443, 9098}


def test_the_network_has_what_sessions_need(options: Synthesized) -> None:
    names = json.dumps(list(options.resources("AWS::EC2::VPCEndpoint", of="network").values()))

    assert re.findall(r"\.(ssm\w*)", names) == ["ssm", "ssmmessages"]


def test_the_machine_writes_to_no_topics_but_those_of_a_replay(options: Synthesized) -> None:
    writes = [one for one in statements(options) if "kafka-cluster:WriteData" in one["Action"]]

    topics = re.findall(r'"/([\w.*]+)"', json.dumps([one["Resource"] for one in writes]))

    assert sorted(topics) == ["raw.bulk.replayed", "raw.slow"]


def test_a_session_can_be_given_arguments_alone(options: Synthesized) -> None:
    content = only(options, "AWS::SSM::Document")["Content"]

    pattern = content["parameters"]["arguments"]["allowedPattern"]

    assert content["sessionType"] == "NonInteractiveCommands"
    assert re.fullmatch(pattern, "WyI4MCIsICJzdGF0dXMiXQ==")
    assert not re.fullmatch(pattern, "a; reboot")


def test_what_the_machine_starts_with_runs_commands_as_a_session_asks_for_them(
    options: Synthesized,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    home = str(tmp_path / "opt")
    uv = uv_of(ROOT)
    wheels = build_wheels(uv, scratch=tmp_path / "built", folder=tmp_path / "wheels")
    archive = write_environment(
        uv,
        *map(wheel_contents, wheels.values()),
        *(source_contents(ROOT, name) for name in OPERATORS_CODE),
        groups=("operators",),
        platform=Platform.HOST,
        scratch=tmp_path / "scratch",
        path=tmp_path / OPERATORS,
        python=Path(sys.base_prefix),
    )
    command = session_command(options).replace(HOME, home)
    put_on_path(monkeypatch, tmp_path / "bin", command=command, archive=str(archive))
    for file in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(file, os.devnull)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    first_start = _user_data(options).replace(HOME, home)

    subprocess.run(["/bin/bash", "-e", "-c", first_start], check=True, cwd=tmp_path)
    host = OperatorHost(instance="i-0123", document="ours")
    codes = [
        run_near_kafka(host, arguments, region="eu-central-1")
        for arguments in (
            *(["tail", "--help"], ["why", "--help"], ["parked", "list", "--help"]),
            *(["replay", "--help"], ["device", "erase", "--help"]),
            ["status", "--stage", "dev"],
        )
    ]

    assert codes == [0, 0, 0, 0, 0, 1]
    assert "error: stage dev needs AWS credentials" in capsys.readouterr().out


def _user_data(stage: Synthesized) -> str:
    joined = only(stage, "AWS::EC2::Instance")["UserData"]["Fn::Base64"]
    parts = joined["Fn::Join"][1] if isinstance(joined, dict) else [joined]
    return "".join(part if isinstance(part, str) else "bucket" for part in parts)
