"""What the engines need to run the Spark jobs: their script, their code, and packages."""

import shutil
from pathlib import Path
from typing import Final

from infra.artifacts.archive import Artifact, Contents, artifact_at, merged, write_archive
from infra.artifacts.contents import installed_contents, source_contents
from infra.artifacts.packages import Group, Platform, install
from infra.artifacts.uv import Uv
from infra.artifacts.zip_of_wheels import zip_of_wheels

ENGINES_BRING: Final = (
    *("boto3", "botocore", "jmespath", "python-dateutil", "s3transfer", "six", "urllib3"),
    *("numpy", "pyarrow"),
)
"""Packages of the group that Glue 6.0 and EMR have, as they have pyspark and pandas."""


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
    code = [source_contents(uv.root, name) for name in ("glue_jobs", "clients")]
    script = Path(shutil.copyfile(uv.root / "glue_jobs" / "host.py", folder / "host.py"))
    return (
        artifact_at(script),
        write_archive(folder / "fleetlane-jobs.zip", merged(ours, *code)),
        write_archive(folder / "fleetlane-packages.zip", installed_contents(scratch)),
        write_archive(folder / "fleetlane-packages.gluewheels.zip", zip_of_wheels(scratch)),
    )
