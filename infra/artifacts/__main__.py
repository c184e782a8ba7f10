"""``make artifacts``: build all that a deploy uploads, and say what was built."""

import sys
import zipfile
from pathlib import Path

from fleetlane.events.errors import FleetlaneError
from fleetlane.events.flows.artifacts import sha256_of_file
from infra.artifacts.archive import CannotBuildError
from infra.artifacts.build import build
from infra.artifacts.folder import ROOT, Artifacts
from infra.artifacts.jobs import own_python


def main() -> None:
    """Build, with a line for each artifact; the exit code is 1 when one could not be built."""
    folder = Artifacts().folder
    try:
        for artifact in build(ROOT, folder, python=own_python(ROOT)):
            sys.stdout.write(f"{_line(artifact, folder)}\n")
            sys.stdout.flush()
    except FleetlaneError as problem:
        sys.exit(f"error: {problem}")
    except OSError as problem:
        where, why = str(problem.filename), str(problem.strerror)
        sys.exit(f"error: {CannotBuildError(where, why, 'free some disk space')}")


def _line(artifact: Path, folder: Path) -> str:
    size_bytes = unpacked_bytes = artifact.stat().st_size
    if zipfile.is_zipfile(artifact):
        with zipfile.ZipFile(artifact) as archive:
            unpacked_bytes = sum(entry.file_size for entry in archive.infolist())
    name = artifact.relative_to(folder).as_posix()
    size = f"{size_bytes:>10} bytes, {unpacked_bytes:>10} unpacked"
    return f"{name:<66} {size}  sha256:{sha256_of_file(artifact)}"


if __name__ == "__main__":
    main()
