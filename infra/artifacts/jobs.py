"""What the engines need to run the Spark jobs: their script, code, packages and jars.

An engine has no Kafka connector, or one that dies at a restart.
"""

import base64
import csv
import hashlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from fleetlane.parsers.artifacts.building import Platform, Uv
from fleetlane.parsers.artifacts.writing import Contents
from infra.artifacts.archive import (
    Artifact,
    CannotBuildError,
    archive_bytes,
    artifact_at,
    install,
    installed_contents,
    merged,
    source_contents,
    write_archive,
)

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
    install(uv, "jobs", platform, scratch, without=ENGINES_BRING)
    folder.mkdir(parents=True, exist_ok=True)
    code = [source_contents(uv.project, name) for name in ("glue_jobs", "clients")]
    script = Path(shutil.copyfile(uv.project / "glue_jobs" / "host.py", folder / "host.py"))
    return (
        artifact_at(script),
        write_archive(folder / "fleetlane-jobs.zip", merged(ours, *code)),
        write_archive(folder / "fleetlane-packages.zip", installed_contents(scratch)),
        write_archive(folder / "fleetlane-packages.gluewheels.zip", _zip_of_wheels(scratch)),
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


def _zip_of_wheels(folder: Path) -> Contents:
    """Pack the packages that are installed in ``folder`` as wheels again: uv hands none out.

    Glue unpacks ``wheels/`` and runs pip on its ``requirements.txt``, with no other index.
    Scripts are left out, as jobs call none.
    """
    installed, notes = installed_contents(folder), sorted(folder.glob("*.dist-info"))
    wheels = {
        f"wheels/{note.stem}-{_tags(note)}.whl": archive_bytes(_wheel(note, installed))
        for note in notes
    }
    lines = ["==".join(note.stem.rsplit("-", 1)) for note in notes]
    return {**wheels, "wheels/requirements.txt": "".join(f"{line}\n" for line in lines).encode()}


def _wheel(note: Path, installed: Contents) -> Contents:
    """One package's files, and a list of exactly these in place of the installer's."""
    with (note / "RECORD").open(encoding="utf-8", newline="") as record:
        names = {row[0] for row in csv.reader(record)}
    files = {name: data for name, data in installed.items() if name in names}
    list_name = f"{note.name}/RECORD"
    rows = [f"{name},sha256={_digest(data)},{len(data)}\n" for name, data in files.items()]
    return {**files, list_name: "".join([*rows, f"{list_name},,\n"]).encode()}


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def _tags(note: Path) -> str:
    """The last part of a wheel's file name: each of its three kinds of tags, joined by dots."""
    lines = (note / "WHEEL").read_text(encoding="utf-8").splitlines()
    tags = [line.removeprefix("Tag: ").split("-") for line in lines if line.startswith("Tag: ")]
    return "-".join(".".join(sorted(set(kind))) for kind in zip(*tags, strict=True))
