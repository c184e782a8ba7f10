"""The files that a new parser begins with, whole: they pass ``parser test`` as they are."""

import json
import keyword
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from importlib.resources import files
from pathlib import Path
from string import Template
from types import MappingProxyType
from typing import Final

from packaging.utils import canonicalize_name

from fleetlane.events.names import checked_name
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
    """All files of a new parser, by their paths in its folder.

    Raises:
        BadNameError: The name is not one that a parser may have.
    """
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
