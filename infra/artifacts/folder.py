"""What ``make artifacts`` built, and the code that is uploaded as it is."""

import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fleetlane.events.errors import FleetlaneError
from fleetlane.events.flows.artifacts import FlowArtifact, read_manifest, sha256_of_file
from fleetlane.events.s3_keys import PARSERS, owners_prefix

ROOT: Final = Path(__file__).resolve().parents[2]

SCRIPT: Final = "host.py"
SOURCES: Final = "fleetlane-jobs.zip"
PACKAGES: Final = "fleetlane-packages.zip"
PACKAGES_AS_WHEELS: Final = "fleetlane-packages.gluewheels.zip"
ENVIRONMENT: Final = "fleetlane-environment.zip"
OPERATORS: Final = "fleetlane-operators.zip"
PYTHON: Final = "python/bin/python3.13"  # where ``ENVIRONMENT`` has a Python, if it has one
JARS: Final = "jars"
ICEBERG: Final = "iceberg-"  # what the name of its jar begins with


class MissingArtifactError(FleetlaneError):
    """What is to be uploaded was not built."""

    path: Path
    sentence = "there is no {path}: run `make artifacts` first"


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifacts:
    """The folder of built artifacts.

    Every method gives what exists, or raises ``MissingArtifactError``.
    """

    folder: Path = ROOT / "build" / "artifacts"

    def function(self, name: str) -> Path:
        return _existing(self.folder / "functions" / f"{entry_of(name).split('.')[1]}.zip")

    def jobs_folder(self) -> Path:
        for file in (SCRIPT, SOURCES, PACKAGES, PACKAGES_AS_WHEELS, ENVIRONMENT):
            self.job_file(file)
        self.jars()
        return self.folder / "jobs"

    def job_file(self, file: str) -> Path:
        """One of the jobs' files: the script that the engines start, or what it imports."""
        return _existing(self.folder / "jobs" / file)

    def has_python(self) -> bool:
        """Whether the jobs' environment has a Python of its own."""
        with zipfile.ZipFile(self.job_file(ENVIRONMENT)) as environment:
            return PYTHON in environment.namelist()

    def jars(self) -> tuple[str, ...]:
        """The names of the jars that the jobs bring, in the jobs' folder under ``jars``."""
        folder = self.folder / "jobs" / JARS
        names = tuple(sorted(jar.name for jar in folder.glob("*.jar")))
        if not names:
            raise MissingArtifactError(folder)
        return names

    def operators(self) -> Path:
        """What the operators' machine runs; built where there is a Python to pack into it."""
        return _existing(self.folder / OPERATORS)

    def parsers_folder(self) -> Path:
        """The artifacts of parsers, by their keys below ``parsers/``."""
        return self.folder / PARSERS

    def parser(self, owner: str, use: str) -> FlowArtifact | None:
        """The owner's artifact that offers a flow's ``name==version``, if it was built."""
        for path in sorted((self.folder / owners_prefix(owner)).rglob("*.zip")):
            if read_manifest(path, artifact=str(path)).offers(use):
                key = path.relative_to(self.folder).as_posix()
                return FlowArtifact(owner=owner, use=use, key=key, sha256=sha256_of_file(path))
        return None


_ENTRIES: Final = {
    "ingest": "ingest.start.handle",
    "upload_landing": "uploads.handler.land",
    "upload_sweep": "uploads.handler.sweep",
}
"""Functions that share another function's code, or begin elsewhere than in a handler."""


def entry_of(function: str) -> str:
    """What Lambda calls of a function; by default its code has its name."""
    return f"lambdas.{_ENTRIES.get(function, f'{function}.handler.handle')}"


def _existing(path: Path) -> Path:
    if not path.is_file():
        raise MissingArtifactError(path)
    return path
