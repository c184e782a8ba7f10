"""All artifacts of a deploy, for the machines that they will run on."""

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Final

from fleetlane.events.flows.artifacts import artifact_key, read_manifest
from fleetlane.events.s3_keys import PARSERS
from fleetlane.parsers.artifacts.building import CannotBuildError as UvFailedError
from fleetlane.parsers.artifacts.building import Platform, Uv, uv_for, write_built
from infra.artifacts import archive
from infra.artifacts.folder import ENVIRONMENT, OPERATORS
from infra.artifacts.functions import function_names, write_function
from infra.artifacts.jobs import write_environment, write_jars, write_jobs

WHEEL_BYTES_MAX: Final = 1_000_000

OPERATORS_CODE: Final = ("clients", "local", "operations")
"""What their machine runs besides our wheels."""

OUR_PROJECTS: Final = ("fleetlane-events", "fleetlane-parsers", "fleetlane")


def build_wheels(uv: Uv, *, scratch: Path, folder: Path) -> Mapping[str, Path]:
    """Build our own wheels into ``folder``, and give them by their projects' names."""
    folder.mkdir(parents=True, exist_ok=True)
    wheels = {}
    for project in OUR_PROJECTS:
        where = ("--out-dir", str(scratch / project), "--no-create-gitignore")
        build = ("build", "--wheel", "--package", project, *where)
        archive.run_uv(uv, *build, subject=f"wheel of {project}")
        (wheel,) = (scratch / project).glob("*.whl")
        size_bytes = wheel.stat().st_size
        if size_bytes > WHEEL_BYTES_MAX:
            raise archive.ArtifactTooLargeError(wheel.name, size_bytes, WHEEL_BYTES_MAX)
        wheels[project] = Path(shutil.move(wheel, folder / wheel.name))
    return wheels


PROJECTS: Final = {"examples/acme-sensors": "acme-sensors"}
"""The owner of each project's artifact."""


def write_parsers(uv: Uv, *, platform: Platform, scratch: Path, folder: Path) -> Iterator[Path]:
    """Build all projects into ``folder``, each at its key in the flows' bucket."""
    shutil.rmtree(folder / PARSERS, ignore_errors=True)  # of earlier versions
    for project, owner in PROJECTS.items():
        try:
            built = write_built(uv_for(uv.project / project, uv.program), platform, scratch / owner)
        except UvFailedError as failure:
            remedy = "mend that and run `make artifacts` again"
            raise archive.CannotBuildError(project, failure.problem, remedy) from None
        target = folder / artifact_key(owner, read_manifest(built, artifact=built.name))
        target.parent.mkdir(parents=True, exist_ok=True)
        yield Path(shutil.move(built, target))


FUNCTIONS_IN_AWS: Final = Platform.ARM64
JOBS_IN_AWS: Final = Platform.X86_64
"""Lambda on Graviton; Glue runs on x86 only, and EMR by default."""


def build(
    root: Path, folder: Path, machine: Platform | None = None, *, python: Path | None = None
) -> Iterator[Path]:
    """Build everything of the checkout at ``root`` into ``folder``; yield each once it is written.

    All is to run on ``machine``; without one, functions and jobs on those of AWS. ``python`` is a
    CPython for the jobs on EMR, and for the operators' machine; without one, they take the image's,
    and it has nothing. Raises ``CannotBuildError``, or ``ArtifactTooLargeError``.
    """
    uv, platform = archive.uv_of(root), machine or JOBS_IN_AWS
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".scratch-") as name:
        scratch = Path(name)
        wheels = build_wheels(uv, scratch=scratch / "wheels", folder=folder / "wheels")
        yield from wheels.values()
        events, parsers = (archive.wheel_contents(wheels[project]) for project in OUR_PROJECTS[:2])
        for function in function_names(root):
            yield write_function(
                uv,
                function,
                platform=machine or FUNCTIONS_IN_AWS,
                events=events,
                scratch=scratch / "functions" / function,
                path=folder / "functions" / f"{function}.zip",
            )
        yield from write_jobs(
            uv,
            ours=archive.merged(events, parsers),
            platform=platform,
            scratch=scratch / "jobs",
            folder=folder / "jobs",
        )
        yield from write_parsers(uv, platform=platform, scratch=scratch / "parsers", folder=folder)
        yield from write_jars(root, folder / "jobs" / "jars")
        environment = partial(write_environment, uv, platform=platform, python=python)
        yield environment(scratch=scratch / "environment", path=folder / "jobs" / ENVIRONMENT)
        if python is not None:
            yield environment(
                *map(archive.wheel_contents, wheels.values()),
                *(archive.source_contents(root, name) for name in OPERATORS_CODE),
                groups=("operators",),
                scratch=scratch / "operators",
                path=folder / OPERATORS,
            )
        else:  # an earlier build's, with other code
            (folder / OPERATORS).unlink(missing_ok=True)
