"""The uv that builds an artifact, and its error when it fails."""

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from fleetlane.events.errors import FleetlaneError


class CannotBuildError(FleetlaneError):
    """A project could not be built. ``problem`` says why, and what to do."""

    reason = "cannot_build"
    project: str
    problem: str
    sentence = "{project} cannot be built: {problem}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Uv:
    """Runs uv for the project in a folder, with the Python that runs this."""

    program: Path
    project: Path

    def run(self, *arguments: str, given: str = "") -> str:
        """Run uv with ``given`` on its standard input, and give what it printed.

        Raises:
            CannotBuildError: It failed.
        """
        done = subprocess.run(  # noqa: S603 - uv, with arguments of our own
            [str(self.program), "--quiet", *arguments, "--python", sys.executable],
            cwd=self.project,
            input=given,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            said = " ".join(done.stderr.split()).removeprefix("error: ").rstrip(".")
            raise CannotBuildError(self.project.name, said or f"uv exit code {done.returncode}")
        return done.stdout


def uv_for(project: Path, program: Path | None = None) -> Uv:
    """Take this uv, or the one on ``PATH``.

    Raises:
        CannotBuildError: There is none.
    """
    found = program or shutil.which("uv")
    if found is None:
        raise CannotBuildError(
            project.name, "uv is not on the PATH: install it (docs.astral.sh/uv)"
        )
    return Uv(program=Path(found), project=project.absolute())
