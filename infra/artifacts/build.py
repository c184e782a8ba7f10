"""All artifacts of a deploy, for the machines that they will run on."""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fleetlane.parsers.artifacts.building import Platform
from infra.artifacts.archive import Artifact, merged
from infra.artifacts.contents import wheel_contents
from infra.artifacts.functions import FunctionBuild, function_names
from infra.artifacts.jobs import write_jars, write_jobs
from infra.artifacts.packages import uv_of
from infra.artifacts.parsers import write_parsers
from infra.artifacts.wheels import EVENTS, PARSERS, build_wheels


@dataclass(frozen=True, slots=True, kw_only=True)
class Targets:
    """Where functions and jobs run."""

    functions: Platform
    jobs: Platform


IN_AWS: Final = Targets(functions=Platform.ARM64, jobs=Platform.X86_64)
"""Lambda on Graviton; Glue runs on x86 only, and EMR by default."""


def build(root: Path, folder: Path, targets: Targets = IN_AWS) -> Iterator[Artifact]:
    """Build everything of the checkout at ``root`` into ``folder``; yield each once it is written.

    Raises:
        CannotBuildError: Something needed is missing or does not fit together.
        ArtifactTooLargeError: One is over its limit.
    """
    uv = uv_of(root)
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".scratch-") as name:
        scratch = Path(name)
        wheels = build_wheels(uv, scratch=scratch / "wheels", folder=folder / "wheels")
        yield from wheels.values()
        events, parsers = (wheel_contents(wheels[project].path) for project in (EVENTS, PARSERS))
        functions = FunctionBuild(
            uv=uv, platform=targets.functions, events=events, scratch=scratch / "functions"
        )
        for function in function_names(root):
            yield functions.write(function, folder / "functions" / f"{function}.zip")
        yield from write_jobs(
            uv,
            ours=merged(events, parsers),
            platform=targets.jobs,
            scratch=scratch / "jobs",
            folder=folder / "jobs",
        )
        yield from write_parsers(
            uv, platform=targets.jobs, scratch=scratch / "parsers", folder=folder
        )
        yield from write_jars(root, folder / "jobs" / "jars")
