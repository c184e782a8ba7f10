"""Artifacts of the parsers that this checkout brings, built by the command that teams use."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import MappingProxyType
from typing import Final

from fleetlane.events.flows.artifact_manifest import read_manifest
from fleetlane.events.flows.artifacts import artifact_key
from fleetlane.events.s3_keys import PARSERS
from infra.artifacts.archive import Artifact, artifact_at
from infra.artifacts.failures import CannotBuildError
from infra.artifacts.packages import Platform

PROJECTS: Final = MappingProxyType({"examples/acme-sensors": "acme-sensors"})
"""Whose artifact each project becomes."""

_MACHINES: Final = MappingProxyType(
    {Platform.X86_64: "x86_64", Platform.ARM64: "aarch64", Platform.HOST: "host"}
)


def write_parsers(
    root: Path, *, platform: Platform, scratch: Path, folder: Path
) -> Iterator[Artifact]:
    """Build all projects into ``folder``, each where its key in the flows' bucket says.

    Raises:
        CannotBuildError: One does not build.
    """
    shutil.rmtree(folder / PARSERS, ignore_errors=True)  # of earlier versions
    for project, owner in PROJECTS.items():
        built = _built(root, project, _MACHINES[platform], scratch / owner)
        target = folder / artifact_key(owner, read_manifest(built, artifact=built.name))
        target.parent.mkdir(parents=True, exist_ok=True)
        yield artifact_at(Path(shutil.move(built, target)))


def _built(root: Path, project: str, machine: str, folder: Path) -> Path:
    command = [sys.executable, "-m", "fleetlane.cli.main", "parser", "build", project]
    done = subprocess.run(  # noqa: S603 - our own command
        [*command, "--output", str(folder), "--platform", machine],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        problem = " ".join(done.stderr.split()).removeprefix("error: ").rstrip(".")
        raise CannotBuildError(project, problem, "mend that and run `make artifacts` again")
    (artifact,) = folder.glob("*.zip")
    return artifact
