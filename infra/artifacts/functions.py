"""The zip of one function: its code, ``clients``, the contracts, packages, and bytecode of all."""

import importlib.util
import marshal
import sys
import warnings
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Final

from fleetlane.parsers.artifacts.building import Platform, Uv
from fleetlane.parsers.artifacts.writing import Contents
from infra.artifacts import archive

_UNCHECKED_HASH: Final = (1).to_bytes(4, "little")
"""PEP 552: valid whatever its source is, whose size and time are not even read."""

_WITHOUT_REFERENCES: Final = 2
"""Later marshal formats write repeated objects as references, by their reference counts: the bytes
depend on what else this process has loaded."""


def with_bytecode(contents: Contents) -> Contents:
    """Contents, and the bytecode of their modules where Python looks for it.

    So a cold start does not compile what it imports. It is that of the Python that runs this; one
    of another minor version looks for other names, and compiles as before.
    """
    whole = dict(contents)
    for name, source in contents.items():
        path = PurePosixPath(name)
        if path.suffix == ".py" and (bytecode := _bytecode(name, source)) is not None:
            cached = f"{path.stem}.{sys.implementation.cache_tag}.pyc"
            whole[(path.parent / "__pycache__" / cached).as_posix()] = bytecode
    return whole


@cache
def _bytecode(name: str, source: bytes) -> bytes | None:
    """The bytecode of a file, or none if it is no module of this Python.

    Most packages are those of all functions.
    """
    with warnings.catch_warnings(action="ignore"):  # of an escape in a package of others, say
        try:
            code = compile(source, name, "exec", dont_inherit=True, optimize=0)
        except SyntaxError:
            return None
    head = importlib.util.MAGIC_NUMBER + _UNCHECKED_HASH + importlib.util.source_hash(source)
    return head + marshal.dumps(code, _WITHOUT_REFERENCES)


FUNCTION_BYTES_MAX: Final = 50_000_000
"""Unpacked. Lambda accepts five times as much, but larger functions start more slowly."""


def write_function(
    uv: Uv, name: str, *, platform: Platform, events: Contents, scratch: Path, path: Path
) -> Path:
    """Write the zip of ``lambdas/<name>``; ``events`` is what fleetlane-events' wheel holds."""
    root = uv.project
    package = {"lambdas/__init__.py": (root / "lambdas" / "__init__.py").read_bytes()}
    folders = (f"lambdas/{name}", "lambdas/http", "clients")
    ours = archive.merged(package, *(archive.source_contents(root, folder) for folder in folders))
    archive.install(uv, name.replace("_", "-"), platform, scratch)
    contents = with_bytecode(archive.merged(ours, events, archive.installed_contents(scratch)))
    size_bytes = sum(map(len, contents.values()))
    if size_bytes > FUNCTION_BYTES_MAX:
        raise archive.ArtifactTooLargeError(path.name, size_bytes, FUNCTION_BYTES_MAX)
    return archive.write_archive(path, contents)


def function_names(root: Path) -> tuple[str, ...]:
    return tuple(sorted(path.parent.name for path in (root / "lambdas").glob("*/handler.py")))
