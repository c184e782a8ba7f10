"""Artifacts of the parsers that this checkout brings."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from types import MappingProxyType
from typing import Final

from fleetlane.events.flows.artifacts import artifact_key, read_manifest
from fleetlane.events.s3_keys import PARSERS
from fleetlane.parsers.artifacts.building import CannotBuildError as UvFailedError
from fleetlane.parsers.artifacts.building import Platform, Uv, uv_for, write_built
from infra.artifacts.archive import Artifact, artifact_at
from infra.artifacts.failures import CannotBuildError

PROJECTS: Final = MappingProxyType({"examples/acme-sensors": "acme-sensors"})
"""The owner of each project's artifact."""


def write_parsers(uv: Uv, *, platform: Platform, scratch: Path, folder: Path) -> Iterator[Artifact]:
    """Build all projects into ``folder``, each at its key in the flows' bucket.

    Raises:
        CannotBuildError: One does not build.
    """
    shutil.rmtree(folder / PARSERS, ignore_errors=True)  # of earlier versions
    for project, owner in PROJECTS.items():
        try:
            built = write_built(uv_for(uv.project / project, uv.program), platform, scratch / owner)
        except UvFailedError as failure:
            remedy = "mend that and run `make artifacts` again"
            raise CannotBuildError(project, failure.problem, remedy) from None
        target = folder / artifact_key(owner, read_manifest(built, artifact=built.name))
        target.parent.mkdir(parents=True, exist_ok=True)
        yield artifact_at(Path(shutil.move(built, target)))
