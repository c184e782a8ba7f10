"""The uv of this checkout, and what it says when it fails."""

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from infra.artifacts.failures import CannotBuildError


@dataclass(frozen=True, slots=True, kw_only=True)
class Uv:
    """Runs uv in the checkout at ``root``."""

    program: Path
    root: Path

    def run(self, *arguments: str, subject: str, given: str = "") -> str:
        """Run uv with ``given`` on its standard input, and give what it printed.

        Raises:
            CannotBuildError: It failed. ``subject`` says what it was to work on.
        """
        done = subprocess.run(  # noqa: S603 - uv, with arguments of our own
            [str(self.program), "--quiet", *arguments],
            cwd=self.root,
            input=given,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            problem = " ".join(done.stderr.split()).removeprefix("error: ").rstrip(".")
            remedy = "mend that (`uv lock` renews a stale uv.lock) and run `make artifacts` again"
            raise CannotBuildError(subject, problem or f"uv exit code {done.returncode}", remedy)
        return done.stdout


def uv_of(root: Path) -> Uv:
    """Find the uv that the set-up uses: its own, or the one on ``PATH``.

    Raises:
        CannotBuildError: There is none.
    """
    ours, on_path = root / "build" / "uv" / "bin" / "uv", shutil.which("uv")
    if ours.is_file():
        return Uv(program=ours, root=root)
    if on_path is None:
        raise CannotBuildError("build/uv/bin/uv", "is missing", "run `make environment`")
    return Uv(program=Path(on_path), root=root)
