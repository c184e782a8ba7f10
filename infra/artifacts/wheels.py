"""Our own wheels: what parser authors install, and what functions and jobs unpack."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from fleetlane.parsers.artifacts.building import Uv
from infra.artifacts.archive import Artifact, artifact_at
from infra.artifacts.failures import ArtifactTooLargeError
from infra.artifacts.packages import run_uv

WHEEL_BYTES_MAX: Final = 1_000_000

EVENTS: Final = "fleetlane-events"
PARSERS: Final = "fleetlane-parsers"
OUR_PROJECTS: Final = (EVENTS, PARSERS, "fleetlane")


def build_wheels(uv: Uv, *, scratch: Path, folder: Path) -> Mapping[str, Artifact]:
    """Build our own wheels into ``folder``, and give them by their projects' names.

    Raises:
        CannotBuildError: One does not build.
        ArtifactTooLargeError: One is over its limit.
    """
    folder.mkdir(parents=True, exist_ok=True)
    built = {name: _built(uv, name, scratch / name) for name in OUR_PROJECTS}
    moved = {name: Path(shutil.move(path, folder / path.name)) for name, path in built.items()}
    return MappingProxyType({name: artifact_at(path) for name, path in moved.items()})


def _built(uv: Uv, project: str, folder: Path) -> Path:
    where = ["--out-dir", str(folder), "--no-create-gitignore"]
    run_uv(uv, "build", "--wheel", "--package", project, *where, subject=f"wheel of {project}")
    (wheel,) = folder.glob("*.whl")
    size_bytes = wheel.stat().st_size
    if size_bytes > WHEEL_BYTES_MAX:
        raise ArtifactTooLargeError(wheel.name, size_bytes, WHEEL_BYTES_MAX)
    return wheel
