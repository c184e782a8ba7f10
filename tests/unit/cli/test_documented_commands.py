"""docs/commands.md is what the command line is, and every command in a document can be typed."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import typer

from docs.commands import DOCUMENT, document
from fleetlane.cli.main import app
from local.checkout import ROOT

DOCUMENTS: Final = (
    ROOT / "README.md",
    *sorted(one for one in (ROOT / "docs").glob("*.md") if one != DOCUMENT),
)
_COMMAND: Final = re.compile(r"(?<![\w/.-])(?:\./|\.venv/bin/)?fleetlane ((?:[a-z]+|--[a-z]).*)")
_ENDS: Final = re.compile(r" [|>#] | \|$|&&|;| #|`|\)|\"$|, | and ")
_OPTION: Final = re.compile(r"(?<=\s)--[a-z][a-z-]*")


def commands_in(text: str) -> Iterator[str]:
    """What follows ``fleetlane`` in blocks of code and in backticks, a command a line."""
    blocks = re.findall(r"^```.*?\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    inline = re.findall(
        r"`(fleetlane [^`]+)`", re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    )
    for line in "\n".join([*blocks, *inline]).replace("\\\n", " ").splitlines():
        for found in _COMMAND.finditer(line):
            yield _ENDS.split(f"{found[1]} ")[0].strip()


def problem_of(typed: str) -> str | None:
    """Say what the command line would not understand of it, if anything."""
    command: Any = typer.main.get_command(app)
    words = typed.split()
    while words and getattr(command, "commands", None):
        if words[0] not in command.commands:
            return f"no command {words[0]!r}"
        command = command.commands[words.pop(0)]
    known = {name for one in command.params for name in (*one.opts, *one.secondary_opts)}
    unknown = sorted(set(_OPTION.findall(f" {' '.join(words)}")) - known - {"--help"})
    return f"no option {', '.join(unknown)}" if unknown else None


def test_the_table_of_commands_is_what_the_command_line_says() -> None:
    assert DOCUMENT.read_text() == document(), "run `.venv/bin/python docs/commands.py`"


@pytest.mark.parametrize("page", DOCUMENTS, ids=lambda one: one.name)
def test_every_command_in_a_document_can_be_typed(page: Path) -> None:
    problems = [
        f"fleetlane {typed}: {problem}"
        for typed in commands_in(page.read_text())
        if (problem := problem_of(typed)) is not None
    ]

    assert not problems, "\n".join(problems)


@pytest.mark.parametrize("typed", ["device fly d-1", "flow list --nonsense x"])
def test_a_command_that_cannot_be_typed_is_found(typed: str) -> None:
    (found,) = commands_in(f"```sh\n./fleetlane {typed}  # here\n```")

    assert problem_of(found) is not None
