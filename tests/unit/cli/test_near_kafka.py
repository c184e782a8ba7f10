"""Commands that need Kafka run on the operators' machine of a stage that has one."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import msgspec
import pytest
from moto import mock_aws
from typer.testing import CliRunner

from fleetlane.cli.main import app
from fleetlane.cli.near_kafka import OperatorHostError, run_near_kafka
from fleetlane.cli.output.tables import PIPE_COLUMNS
from fleetlane.events.stage_resources import OperatorHost, operator_host_name
from tests.deployed_stage import REGION, STAGE, use_region, write_stage
from tests.fake_aws_cli import put_on_path

HOST = OperatorHost(instance="i-0123", document="fleetlane-dev-operators-Session-1")
COMMAND = f"FLEETLANE_NEAR_KAFKA=1 {sys.executable} -m fleetlane.cli.near_kafka {{{{ arguments }}}}"


@pytest.fixture
def sessions(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    put_on_path(monkeypatch, tmp_path / "bin", command=COMMAND)


@pytest.fixture
def stage_with_a_host(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    use_region(monkeypatch)
    with mock_aws():
        write_stage()
        ssm: Any = boto3.client("ssm", region_name=REGION)
        value = msgspec.json.encode(HOST).decode()
        ssm.put_parameter(Name=operator_host_name(STAGE), Type="String", Value=value)
        yield


@pytest.mark.usefixtures("sessions")
def test_what_the_command_prints_is_passed_on_and_nothing_of_the_session(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")

    code = run_near_kafka(HOST, ["why", "--help"], region=REGION)

    printed = capsys.readouterr().out
    assert code == 0
    assert printed.startswith("Usage:")
    assert printed.splitlines()[0].endswith("why")
    assert "session" not in printed.lower()
    assert 50 < max(map(len, printed.splitlines())) <= 60


WIDTH_SHOWN = (
    "import base64, json, sys; given = base64.urlsafe_b64decode(sys.argv[1]);"
    " columns, _, mark, *_ = json.loads(given);"
    ' print(mark + " begins", columns, " ended 0", mark + " ended 0", sep="\\n")'
)


def test_where_no_terminal_is_it_has_room_as_in_any_pipe_and_what_it_prints_ends_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    shown = f"{sys.executable} -c '{WIDTH_SHOWN}' {{{{ arguments }}}}"
    put_on_path(monkeypatch, tmp_path / "bin", command=shown)
    monkeypatch.delenv("COLUMNS", raising=False)

    run_near_kafka(HOST, ["status"], region=REGION)

    assert capsys.readouterr().out.splitlines() == [str(PIPE_COLUMNS), " ended 0"]


@pytest.mark.usefixtures("sessions")
def test_a_commands_error_and_exit_code_come_back(capsys: pytest.CaptureFixture[str]) -> None:
    code = run_near_kafka(HOST, ["flow", "check", "no 'such $folder; exit 7"], region=REGION)

    assert code == 2
    assert "no 'such $folder; exit 7" in capsys.readouterr().out


def test_a_session_that_ends_by_itself_is_an_error_with_its_last_words(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    put_on_path(monkeypatch, tmp_path / "bin", command="echo it is not connected; exit 1")

    with pytest.raises(OperatorHostError, match="i-0123 did not run this: it is not connected"):
        run_near_kafka(HOST, ["status"], region=REGION)


def test_a_missing_plugin_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    put_on_path(monkeypatch, tmp_path / "bin", command=COMMAND)
    (tmp_path / "bin" / "session-manager-plugin").unlink()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))

    with pytest.raises(OperatorHostError, match="install session-manager-plugin"):
        run_near_kafka(HOST, ["status"], region=REGION)


@pytest.mark.usefixtures("sessions", "stage_with_a_host")
@pytest.mark.parametrize(
    "arguments",
    [
        ["status"],
        ["tail", "parked"],
        ["why", "0a1b"],
        ["parked", "list"],
        ["parked", "show", "0a1b"],
        ["parked", "replay", "0a1b"],
        ["replay", "--flow", "gps", "--from", "1h", "--to", "0h"],
        ["device", "erase", "d-1"],
    ],
)
def test_a_command_that_needs_kafka_runs_there(
    monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["fleetlane", *arguments, "--help"])

    result = CliRunner().invoke(app, [*arguments, "--stage", STAGE])

    assert result.exit_code == 0
    assert f" {arguments[0]} " in result.stdout.splitlines()[0]


@pytest.mark.usefixtures("stage_with_a_host")
@pytest.mark.parametrize(
    ("arguments", "option"),
    [(["why", "0a1b", "--bytes", "body"], "--bytes"), (["parked", "export", "f"], "parked export")],
)
def test_what_would_write_a_file_there_is_refused(arguments: list[str], option: str) -> None:
    result = CliRunner().invoke(app, [*arguments, "--stage", STAGE])

    assert result.exit_code == 1
    assert result.stderr == f"error: {option} writes a file on i-0123, not here\n"


@pytest.mark.usefixtures("stage_with_a_host")
def test_there_a_command_asks_kafka_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLEETLANE_NEAR_KAFKA", "1")

    result = CliRunner().invoke(app, ["status", "--stage", STAGE])

    assert result.stderr.startswith("error: Kafka cannot be read")
