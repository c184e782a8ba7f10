"""The README's table of commands and the command line know each other's every command."""

import re
from collections.abc import Iterator
from typing import Any

import typer

from fleetlane.cli.main import app
from local.checkout import ROOT


def commands_of(command: Any, name: str) -> Iterator[str]:
    """All commands below, each with the groups that it is in."""
    below = getattr(command, "commands", None)
    if below is None:
        yield name
        return
    for word, one in below.items():
        yield from commands_of(one, f"{name} {word}")


def test_the_readme_names_every_command_and_no_other() -> None:
    readme = (ROOT / "README.md").read_text()

    named = re.findall(r"^\| `(fleetlane [a-z ]+)` \|", readme, re.MULTILINE)

    assert sorted(named) == sorted(commands_of(typer.main.get_command(app), "fleetlane"))
