"""``fleetlane parser new``: a folder to begin with."""

import os
from pathlib import Path
from typing import Annotated, Final

import typer

from fleetlane.cli.commands.parser.templates import StartFrom, is_built_in, new_parser_files
from fleetlane.cli.options.checkout import checkout_root
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.names import NAME_PATTERN

_PACKAGES: Final = {
    "fleetlane": "cli",
    "fleetlane-events": "events",
    "fleetlane-parsers": "parsers",
}


class CannotBeginError(FleetlaneError):
    """A new parser cannot be made under this name, or in this folder."""

    reason = "cannot_begin"
    what: str
    problem: str
    sentence = "{what} {problem}"


def new(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help=f"Of the parser and its stream: {NAME_PATTERN}")
    ],
    *,
    start_from: Annotated[
        StartFrom,
        typer.Option(
            "--format",
            help="A class in Python; or a built-in format, which takes a flow file and no Python.",
        ),
    ] = StartFrom.PYTHON,
    owner: Annotated[str, typer.Option(metavar="TEAM", help="The team it belongs to.")] = "my-team",
    folder: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where to.", show_default="./NAME")
    ] = None,
) -> None:
    """Make a parser's folder: package, flow file, samples and a test, all of it working."""
    if is_built_in(name):
        raise CannotBeginError(f"parser {name!r}", "is a built-in format: choose another name")
    target = Path(name) if folder is None else folder
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise CannotBeginError(str(target), "is there already, and not empty")
    for path, content in new_parser_files(name, owner, start_from).items():
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        (target / path).write_bytes(content)
    if start_from is StartFrom.PYTHON:
        _name_sources(target)
    typer.echo(f"made {target}: try it with `fleetlane parser test {target}`")


def _name_sources(target: Path) -> None:
    """Say where Fleetlane's own packages are, if this command runs from a checkout."""
    root = checkout_root()
    if root is None:
        return
    lines = [
        f'{package} = {{ path = "{_path_to(root / folder, target)}", editable = true }}\n'
        for package, folder in _PACKAGES.items()
    ]
    heading = "\n[tool.uv.sources] # a checkout; without this, uv asks your package index\n"
    with (target / "pyproject.toml").open("a", encoding="utf-8") as file:
        file.write(heading + "".join(lines))


def _path_to(folder: Path, target: Path) -> str:
    try:
        return Path(os.path.relpath(folder, target.resolve())).as_posix()
    except ValueError:  # on another drive
        return folder.as_posix()
