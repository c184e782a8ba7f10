"""``fleetlane parser new``: a folder to begin with."""

import json
import keyword
import shlex
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from string import Template
from typing import Annotated, Final, Literal

import typer
from packaging.utils import canonicalize_name

from fleetlane.cli.options.checkout import checkout_root, command_here
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.names import NAME_PATTERN, checked_name
from fleetlane.parsers.registry import installed_parsers

_TEMPLATES: Final = Path(__file__).parents[2] / "parser_template"
_SAMPLE: Final = "samples/two-readings.bin"
_NOT_A_MODULE: Final = frozenset({"fleetlane", "tests", "flows", "samples"})

StartFrom = Literal["python", "binary", "csv", "json"]
"""What a new parser is made of: a class in Python, or a built-in format and its options."""


def new_parser_files(name: str, owner: str, start_from: StartFrom) -> Mapping[Path, bytes]:
    """All files of a new parser, by their paths in its folder; raises ``BadNameError``."""
    checked_name(name, kind="parser")
    module = name.replace("-", "_").rstrip("_")
    if keyword.iskeyword(module) or module in sys.stdlib_module_names | _NOT_A_MODULE:
        module = f"{module}_parser"
    known = {
        "name": name,
        "distribution": canonicalize_name(name).strip("-"),
        "owner": json.dumps(owner)[1:-1],
        "module": module,
        "class_name": "".join(part.capitalize() for part in name.split("-")),
    }
    folders = (_TEMPLATES / "every", _TEMPLATES / start_from)
    return {path: content for folder in folders for path, content in _filled(folder, known)}


def _filled(folder: Path, known: Mapping[str, str]) -> Iterator[tuple[Path, bytes]]:
    """A folder's files. Names say NAME and MODULE; texts, which end in ``.txt``, ``$name``."""
    for file in sorted(one for one in folder.rglob("*") if one.is_file()):
        place = str(file.relative_to(folder))
        path = Path(place.replace("NAME", known["name"]).replace("MODULE", known["module"]))
        if file.suffix == ".txt":
            text = Template(file.read_text(encoding="utf-8")).substitute(known)
            yield path.with_suffix(""), text.encode()
        else:
            yield path, file.read_bytes()


_PACKAGES: Final = {
    "fleetlane": "cli",
    "fleetlane-events": "events",
    "fleetlane-parsers": "parsers",
}


class CannotBeginError(FleetlaneError):
    """A new parser cannot be made under this name, or in this folder."""

    what: str
    problem: str
    sentence = "{what} {problem}"


def new(
    name: Annotated[str, typer.Argument(help=f"Of the parser and its stream: {NAME_PATTERN}")],
    *,
    start_from: Annotated[
        StartFrom,
        typer.Option(
            "--format",
            help="A class in Python; or a built-in format, which takes a flow file and no Python.",
        ),
    ] = "python",
    owner: Annotated[str, typer.Option(metavar="TEAM", help="The team it belongs to.")] = "my-team",
    folder: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where to.", show_default="./NAME")
    ] = None,
) -> None:
    """Make a parser's folder: package, flow file, samples and a test, all of it working."""
    if any(one.is_built_in and one.name == name for one in installed_parsers()):
        raise CannotBeginError(f"parser {name!r}", "is a built-in format: choose another name")
    target = Path(name) if folder is None else folder
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise CannotBeginError(str(target), "exists and is not empty")
    for path, content in new_parser_files(name, owner, start_from).items():
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        (target / path).write_bytes(content)
    if start_from == "python":
        _name_sources(target)
    command, folder_here = f"{command_here()} parser", shlex.quote(str(target))
    sample, flow = (shlex.quote(str(target / one)) for one in (_SAMPLE, f"flows/{name}.toml"))
    typer.echo(f"made {target}; now try:")
    typer.echo(f"  {command} test {folder_here}")
    typer.echo(f"  {command} try {sample} --flow {flow}")


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
        return folder.relative_to(target.resolve(), walk_up=True).as_posix()
    except ValueError:  # on another drive
        return folder.as_posix()
