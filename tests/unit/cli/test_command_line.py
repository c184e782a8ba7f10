"""Every command: its help, and its errors in one line."""

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fleetlane.cli.main import app
from fleetlane.cli.options.checkout import CheckoutMissingError, use_checkout

COMMANDS = [
    *("up", "demo", "device add", "device token", "send", "tail"),
    *("parser new", "parser try", "parser test", "parser bench", "parser build", "parser diff"),
    *("parser deploy", "flow new", "flow check", "flow publish", "flow list"),
]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_a_help_text(command: str) -> None:
    result = CliRunner().invoke(app, [*command.split(), "--help"])

    assert (result.exit_code, "Usage:" in result.stdout) == (0, True)


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
def test_a_wrong_argument_is_told_and_nothing_is_done(arguments: list[str]) -> None:
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


def test_what_is_installed_without_the_checkout_says_so(tmp_path: Path) -> None:
    with pytest.raises(CheckoutMissingError) as caught:
        use_checkout(tmp_path)

    assert "needs a checkout of Fleetlane" in str(caught.value)


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
