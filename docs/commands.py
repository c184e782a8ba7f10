"""Writes docs/commands.md from the command line itself: `.venv/bin/python docs/commands.py`."""  # noqa: INP001

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import typer

from fleetlane.cli.main import app

DOCUMENT: Final = Path(__file__).with_suffix(".md")
HEAD: Final = """\
# Commands

Made from the command line itself by `.venv/bin/python docs/commands.py`; a test fails when it is
stale. `--help` after any command explains its arguments and options. Data goes to stdout,
`error: ...` to stderr with exit code 1.
"""


def commands_of(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Each command below, by its full name."""
    below = getattr(command, "commands", None)
    if below is None:
        yield name, command
        return
    for word, one in sorted(below.items()):
        yield from commands_of(one, f"{name} {word}")


def all_commands() -> dict[str, Any]:
    return dict(commands_of(typer.main.get_command(app), "fleetlane"))


def _meaning(command: Any) -> str:
    paragraph = " ".join((command.help or "").split("\n\n")[0].split())
    return paragraph.replace("|", "\\|").rstrip(".")


def _usage(name: str, command: Any) -> str:
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    return " ".join([name, *map(_shown, arguments)])


def _shown(argument: Any) -> str:
    text: str = argument.metavar or argument.name.upper()
    return text if argument.required or text.startswith("[") else f"[{text}]"


def options_of(command: Any) -> list[str]:
    """Each option's longest name, and that of its opposite."""
    return [
        max(names, key=len)
        for one in command.params
        if one.param_type_name == "option" and not getattr(one, "hidden", False)
        for names in (one.opts, one.secondary_opts)
        if names
    ]


def _options(command: Any) -> str:
    return ", ".join(f"`{name}`" for name in options_of(command))


def document() -> str:
    rows = [
        f"| `{_usage(name, one)}` | {_meaning(one)} | {_options(one)} |"
        for name, one in all_commands().items()
    ]
    return "\n".join([HEAD, "| command | does | options |", "|---|---|---|", *rows, ""])


if __name__ == "__main__":
    DOCUMENT.write_text(document())
