"""What the engines need to run the Spark jobs: their script, code, packages and jars.

An engine has no Kafka connector, or one that dies at a restart.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from fleetlane.parsers.artifacts.building import Platform
from fleetlane.parsers.artifacts.uv import Uv
from fleetlane.parsers.artifacts.writing import Contents
from infra.artifacts.archive import Artifact, artifact_at, merged, write_archive
from infra.artifacts.contents import installed_contents, source_contents
from infra.artifacts.failures import CannotBuildError
from infra.artifacts.packages import Group, install
from infra.artifacts.zip_of_wheels import zip_of_wheels

ENGINES_BRING: Final = (
    *("boto3", "botocore", "jmespath", "python-dateutil", "s3transfer", "six", "urllib3"),
    *("numpy", "pyarrow"),
)
"""Packages of the group that Glue 6.0 and EMR have, as they have pyspark and pandas."""

_FETCHED: Final = ("build/jars/spark", "build/jars/aws", "build/jars/msk")
"""Spark's connector and Iceberg, how that reaches AWS, and how Kafka logs in to Amazon MSK.

local/setup/ivy.xml has their versions.
"""


def write_jobs(
    uv: Uv, *, ours: Contents, platform: Platform, scratch: Path, folder: Path
) -> tuple[Artifact, ...]:
    """Write ``host.py``, ``fleetlane-jobs.zip`` and both forms of ``fleetlane-packages``.

    ``ours`` is what the wheels of events and parsers hold.

    Raises:
        CannotBuildError: The packages cannot be installed.
    """
    install(uv, Group(name="jobs", platform=platform, without=ENGINES_BRING), scratch)
    folder.mkdir(parents=True, exist_ok=True)
    code = [source_contents(uv.project, name) for name in ("glue_jobs", "clients")]
    script = Path(shutil.copyfile(uv.project / "glue_jobs" / "host.py", folder / "host.py"))
    return (
        artifact_at(script),
        write_archive(folder / "fleetlane-jobs.zip", merged(ours, *code)),
        write_archive(folder / "fleetlane-packages.zip", installed_contents(scratch)),
        write_archive(folder / "fleetlane-packages.gluewheels.zip", zip_of_wheels(scratch)),
    )


def write_jars(root: Path, folder: Path) -> Iterator[Artifact]:
    """Copy the jars that the set-up fetched, byte for byte; ``folder`` holds no others then.

    Raises:
        CannotBuildError: They were not fetched.
    """
    jars = [jar for place in _FETCHED for jar in _jars_in(root, place)]
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for jar in jars:
        yield artifact_at(Path(shutil.copyfile(jar, folder / jar.name)))


def _jars_in(root: Path, place: str) -> list[Path]:
    jars = sorted((root / place).glob("*.jar"))
    if not jars:
        raise CannotBuildError(place, "holds no jar", "run `make platform`, which fetches them")
    return jars
