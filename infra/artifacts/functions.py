"""The zip of one function: its code, ``clients``, the contracts, packages, and bytecode of all."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fleetlane.parsers.artifacts.building import Platform
from fleetlane.parsers.artifacts.uv import Uv
from fleetlane.parsers.artifacts.writing import Contents
from infra.artifacts.archive import Artifact, merged, write_archive
from infra.artifacts.bytecode import with_bytecode
from infra.artifacts.contents import installed_contents, source_contents
from infra.artifacts.failures import ArtifactTooLargeError, CannotBuildError
from infra.artifacts.packages import Group, install

FUNCTION_BYTES_MAX: Final = 50_000_000
"""Unpacked. Lambda accepts five times as much, but larger functions start more slowly."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionBuild:
    """What all functions are built with. ``events`` is what the wheel of fleetlane-events holds."""

    uv: Uv
    platform: Platform
    events: Contents
    scratch: Path

    def write(self, name: str, path: Path) -> Artifact:
        """Write the zip of ``lambdas/<name>``.

        Raises:
            CannotBuildError: Its dependency group is missing or cannot be installed.
            ArtifactTooLargeError: It is over its limit.
        """
        contents = with_bytecode(merged(self._our_code(name), self.events, self._packages(name)))
        size_bytes = sum(map(len, contents.values()))
        if size_bytes > FUNCTION_BYTES_MAX:
            raise ArtifactTooLargeError(path.name, size_bytes, FUNCTION_BYTES_MAX)
        return write_archive(path, contents)

    def _our_code(self, name: str) -> Contents:
        root = self.uv.project
        package = {"lambdas/__init__.py": (root / "lambdas" / "__init__.py").read_bytes()}
        code = source_contents(root, f"lambdas/{name}")
        shared = (source_contents(root, folder) for folder in ("lambdas/http", "clients"))
        return merged(package, code, *shared)

    def _packages(self, name: str) -> Contents:
        folder = self.scratch / name
        group = Group(name=name.replace("_", "-"), platform=self.platform)
        install(self.uv, group, folder)
        return installed_contents(folder)


def function_names(root: Path) -> tuple[str, ...]:
    """The functions there are: each folder of ``lambdas/`` with a handler.

    Raises:
        CannotBuildError: There are none.
    """
    names = sorted(handler.parent.name for handler in (root / "lambdas").glob("*/handler.py"))
    if not names:
        raise CannotBuildError("lambdas", "holds no handler", "run this from a whole checkout")
    return tuple(names)
