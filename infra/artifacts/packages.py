"""Packages of others, exactly as locked, for the platform where they will run."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from infra.artifacts.uv import Uv

PYTHON_VERSION: Final = "3.13"


class Platform(StrEnum):
    """For what machines compiled packages are taken."""

    ARM64 = "aarch64-manylinux_2_28"
    X86_64 = "x86_64-manylinux_2_28"
    HOST = "host"


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """A dependency group of pyproject.toml, without the packages that are there already."""

    name: str
    platform: Platform
    without: Sequence[str] = ()


def install(uv: Uv, group: Group, folder: Path) -> None:
    """Install a group's packages into ``folder``, ours apart. Only wheels, by their hashes.

    Raises:
        CannotBuildError: The group is missing, uv.lock is stale, or a wheel cannot be had.
    """
    subject = f"pyproject.toml, group {group.name}"
    requirements = uv.run("export", *_of(group), subject=subject)
    uv.run("pip", "install", *_into(folder, group.platform), subject=subject, given=requirements)


def _of(group: Group) -> list[str]:
    without = [f"--no-emit-package={name}" for name in group.without]
    only = ["--only-group", group.name, "--no-emit-workspace", *without]
    return ["--locked", "--no-header", "--no-annotate", *only]


def _into(folder: Path, platform: Platform) -> list[str]:
    kind = [] if platform is Platform.HOST else ["--python-platform", platform.value]
    wheels = ["--only-binary", ":all:", "--no-deps", "--require-hashes"]
    python = ["--python", sys.executable, "--python-version", PYTHON_VERSION, *kind]
    return ["--target", str(folder), *python, *wheels, "--requirements", "-"]
