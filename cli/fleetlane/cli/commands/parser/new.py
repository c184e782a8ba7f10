"""``fleetlane parser new``: a folder to begin with."""

import json
import keyword
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from importlib.resources import files
from pathlib import Path
from string import Template
from types import MappingProxyType
from typing import Annotated, Final

import typer
from packaging.utils import canonicalize_name

from fleetlane.cli.options.checkout import checkout_root
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.names import NAME_PATTERN, checked_name
from fleetlane.parsers.registry import BUILT_IN_DISTRIBUTION, installed_parsers

_TEMPLATES: Final = "parser_template"
_NOT_A_MODULE: Final = frozenset({"fleetlane", "tests", "flows", "samples"})


class StartFrom(StrEnum):
    """What a new parser is made of: a class in Python, or a built-in format and its options."""

    PYTHON = "python"
    BINARY = "binary"
    CSV = "csv"
    JSON = "json"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Start:
    """A rule of the flow file, a sample that it parses to two events, and one that it refuses."""

    rule: str
    sample: bytes
    bad_sample: bytes
    bad_detail: str


_MEASURED_AT: Final = 1_762_178_706
_EVENTS: Final = [
    {"measured_at": _MEASURED_AT, "value": 21.5},
    {"measured_at": _MEASURED_AT + 60, "value": -0.25},
]
_PACKED: Final = bytes.fromhex("6908b69200566908b6ceffff")
_STARTS: Final[Mapping[StartFrom, _Start]] = MappingProxyType(
    {
        StartFrom.PYTHON: _Start(
            rule='[[parsers]]\nuse = "$name==0.1.0"\noptions = { value_per_count = 0.25 }\n',
            sample=_PACKED,
            bad_sample=_PACKED[:7],
            bad_detail="7 bytes; readings are 6 bytes each",
        ),
        StartFrom.BINARY: _Start(
            rule="""[[parsers]]
use = "binary"

[parsers.options]
fields = [
    { name = "measured_at", type = "u32be" },
    { name = "value", type = "i16be", scale = 0.25 },
]
""",
            sample=_PACKED,
            bad_sample=_PACKED[:7],
            bad_detail="7 bytes of records; a record has 6",
        ),
        StartFrom.CSV: _Start(
            rule="""[[parsers]]
use = "csv"
options = { types = { measured_at = "int", value = "float" } }
""",
            sample=b"measured_at,value\n1762178706,21.5\n1762178766,-0.25\n",
            bad_sample=b"measured_at,value\n1762178706\n",
            bad_detail="line 2: 1 cells for 2 columns",
        ),
        StartFrom.JSON: _Start(
            rule='[[parsers]]\nuse = "json"\n',
            sample=json.dumps(_EVENTS).encode(),
            bad_sample=b'{"value": 21.5, "value": 22}',
            bad_detail="key 'value' is repeated within an object",
        ),
    }
)


def new_parser_files(name: str, owner: str, start_from: StartFrom) -> Mapping[Path, bytes]:
    """All files of a new parser, by their paths in its folder; raises ``BadNameError``."""
    checked_name(name, kind="parser")
    module = _module_for(name)
    known = {
        "name": name,
        "distribution": canonicalize_name(name).strip("-"),
        "owner": json.dumps(owner)[1:-1],
        "module": module,
        "class_name": "".join(part.capitalize() for part in name.split("-")),
    }
    start = _STARTS[start_from]
    flow = _filled("flow.toml.txt", known) + Template(start.rule).substitute(known)
    refused = {"reason": "malformed", "detail": start.bad_detail}
    texts = {
        f"flows/{name}.toml": flow,
        "samples/two-readings.json": json.dumps(_EVENTS, indent=2) + "\n",
        "samples/bad.json": json.dumps(refused, indent=2) + "\n",
        f"tests/test_{module}.py": _filled("test_samples.py.txt", known),
        ".gitignore": ".venv/\ndist/\nfailures/\n.hypothesis/\n__pycache__/\n",
    }
    if start_from is StartFrom.PYTHON:
        texts[".python-version"] = "3.13\n"
        texts["pyproject.toml"] = _filled("pyproject.toml.txt", known)
        texts[f"{module}/__init__.py"] = _filled("module.py.txt", known)
    samples = {
        Path("samples/two-readings.bin"): start.sample,
        Path("samples/bad.bin"): start.bad_sample,
    }
    return {Path(path): text.encode() for path, text in texts.items()} | samples


def is_built_in(name: str) -> bool:
    """Whether a built-in format has this name already."""
    built_in = (one for one in installed_parsers() if one.distribution == BUILT_IN_DISTRIBUTION)
    return name in {one.name for one in built_in}


def _module_for(name: str) -> str:
    module = name.replace("-", "_").rstrip("_")
    taken = keyword.iskeyword(module) or module in sys.stdlib_module_names | _NOT_A_MODULE
    return f"{module}_parser" if taken else module


def _filled(template: str, known: Mapping[str, str]) -> str:
    text = files("fleetlane.cli").joinpath(_TEMPLATES, template).read_text(encoding="utf-8")
    return Template(text).substitute(known)


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
