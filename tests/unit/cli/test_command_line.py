"""Every command: its help, and its errors in one line."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from docs.commands import all_commands
from fleetlane.cli.command_group import group
from fleetlane.cli.main import app

COMMANDS = [
    *("up", "demo", "device add", "device token", "send", "tail"),
    *("parser new", "parser try", "parser test", "parser bench", "parser build", "parser diff"),
    *("parser deploy", "flow new", "flow check", "flow publish", "flow list"),
]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_a_help_text(command: str) -> None:
    result = CliRunner().invoke(app, [*command.split(), "--help"])

    assert (result.exit_code, "Usage:" in result.stdout) == (0, True)


@pytest.mark.parametrize("name", all_commands())
def test_help_is_in_words_and_names_no_type(name: str) -> None:
    shown = CliRunner().invoke(app, [*name.split()[1:], "--help"]).output

    assert not re.findall(r"<[^|>]*>|[<>]=|list\[", shown)
    assert "{" not in shown.splitlines()[0]


def test_a_limit_that_help_names_is_held() -> None:
    refused = CliRunner().invoke(app, ["fleet", "silent", "--days", "31"])

    assert (refused.exit_code, "--days" in refused.output) == (2, True)


def test_the_command_alone_shows_its_help() -> None:
    result = CliRunner().invoke(app, [])

    assert "Commands:" in result.output


@pytest.mark.parametrize(
    "arguments",
    [
        ["tail"],
        ["tail", "parked", "--limit", "0"],
        ["send", "thermo", "there-is-no-such-file", "--device", "d-1"],
        ["send", "thermo", __file__],
        ["device", "token", "d-1", "--minutes", "1441"],
        ["demo", "--devices", "0"],
        ["flow", "check", "there-is-no-such-folder"],
        ["parser", "deploy", "there-is-no-such.zip", "--owner", "acme"],
        ["parser", "deploy", __file__],
        ["parser", "try", "there-is-no-such-file", "--parser", "json"],
        ["parser", "test", "there-is-no-such-folder"],
        ["parser", "new", "tank", "--format", "xml"],
    ],
)
def test_a_wrong_argument_is_reported_and_nothing_is_done(arguments: list[str]) -> None:
    result = CliRunner().invoke(app, arguments)

    assert (result.exit_code, result.stdout) == (2, "")


@pytest.mark.parametrize(
    "arguments",
    [
        ["flow", "list"],
        ["tail", "parked"],
        ["send", "thermo", __file__, "--device", "d-1"],
        ["device", "add", "d-1"],
    ],
)
def test_without_a_platform_one_line_says_how_to_start_it(
    arguments: list[str], tmp_path: Path
) -> None:
    result = CliRunner().invoke(app, [*arguments, "--data", str(tmp_path)])

    assert (result.exit_code, result.stderr) == (
        1,
        f"error: no platform runs on {tmp_path}: start it with ./fleetlane up\n",
    )


def test_no_terminal_obeys_what_an_error_quotes(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["tail", "parked", "--data", f"{tmp_path}/\x1b[2J"])

    assert "\x1b" not in result.stderr
    assert "/\\x1b[2J: start it" in result.stderr


def test_a_file_that_cannot_be_written_is_named() -> None:
    alone = typer.Typer()
    alone.command("touch")(lambda: Path(__file__, "below").touch())
    alone.callback()(lambda: None)

    result = CliRunner().invoke(group("Files.", {"file": alone}), ["file", "touch"])

    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("error: ")
    assert f"{__file__}/below" in result.stderr


WITHOUT_PLATFORM = """
import sys
sys.modules.update(dict.fromkeys(("clients", "lambdas", "local", "operations")))
from fleetlane.cli.main import app
app(sys.argv[1:])
"""


def without_platform(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The command where nothing of the platform can be imported."""
    command = [sys.executable, "-c", WITHOUT_PLATFORM, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "arguments",
    [["device", "list"], ["tail", "parked"], ["parser", "deploy", __file__, "--owner", "acme"]],
)
def test_what_is_installed_without_the_platform_says_so(arguments: list[str]) -> None:
    done = without_platform(*arguments)

    assert (done.returncode, done.stderr) == (
        1,
        "error: this command needs the platform: install fleetlane[platform], from a checkout\n",
    )


def test_parsers_and_flows_are_written_without_the_platform(tmp_path: Path) -> None:
    body = tmp_path / "body.json"
    body.write_text('{"celsius": 21.5}')

    helped = without_platform("flow", "--help")
    parsed = without_platform("parser", "try", str(body), "--parser", "json")

    assert "needs fleetlane[platform]" in helped.stdout
    assert (parsed.returncode, "21.5" in parsed.stdout) == (0, True)


def test_the_help_loads_nothing_of_the_platform() -> None:
    heavy = (
        "local",
        "clients",
        "hypothesis",
        "boto3",
        "confluent_kafka",
        "httpx",
        "rich",
        "pyarrow",
    )
    script = (
        "import sys, fleetlane.cli.main\n"
        f"print([name for name in {heavy!r} if name in sys.modules])\n"
    )

    printed = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd="/"
    ).stdout

    assert printed == "[]\n"
