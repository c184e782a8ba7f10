"""What the engines need to run the Spark jobs: their script, code, packages, jars and Python.

An engine has no Kafka connector, or one that dies at a restart. On EMR nothing of the environment
is the image's but what we leave out.
"""

import base64
import hashlib
import shutil
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution
from pathlib import Path, PurePosixPath
from typing import Final

from fleetlane.events.flows.artifacts import sha256_of_file
from fleetlane.parsers.artifacts.building import Platform, Uv
from fleetlane.parsers.artifacts.writing import PYTHON as VERSION
from fleetlane.parsers.artifacts.writing import Contents
from infra.artifacts import archive
from infra.artifacts.folder import PACKAGES, PACKAGES_AS_WHEELS, PYTHON, SCRIPT, SOURCES

ENGINES_BRING: Final = (
    *("boto3", "botocore", "jmespath", "python-dateutil", "s3transfer", "six", "urllib3"),
    *("numpy", "pyarrow"),
)
"""Packages of the group that Glue 6.0 and EMR have, as they have pyspark and pandas."""

_JARS: Final = Path(__file__).with_name("jars.sha256")
"""How Kafka logs in to Amazon MSK, Spark's connector, and Iceberg for EMR: each with its SHA-256.

local/setup/ivy.xml fetches them. What else they need, AWS's SDK and Jackson, the engines have.
"""


def write_jobs(
    uv: Uv, *, ours: Contents, platform: Platform, scratch: Path, folder: Path
) -> tuple[Path, ...]:
    """Write ``host.py``, ``fleetlane-jobs.zip`` and both forms of ``fleetlane-packages``.

    ``ours`` is what the wheels of events and parsers hold.
    """
    archive.install(uv, "jobs", platform, scratch, without=ENGINES_BRING)
    folder.mkdir(parents=True, exist_ok=True)
    code = [archive.source_contents(uv.project, name) for name in ("glue_jobs", "clients")]
    return (
        Path(shutil.copyfile(uv.project / "glue_jobs" / SCRIPT, folder / SCRIPT)),
        archive.write_archive(folder / SOURCES, archive.merged(ours, *code)),
        archive.write_archive(folder / PACKAGES, archive.installed_contents(scratch)),
        archive.write_archive(folder / PACKAGES_AS_WHEELS, _zip_of_wheels(scratch)),
    )


def write_jars(root: Path, folder: Path) -> Iterator[Path]:
    """Copy the jars that the set-up fetched, byte for byte; ``folder`` holds no others then."""
    lines = _JARS.read_text(encoding="utf-8").splitlines()
    jars = [_jar(root / "build" / "jars", *line.split()) for line in lines]
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for jar in jars:
        yield Path(shutil.copyfile(jar, folder / jar.name))


def _jar(fetched: Path, sha256: str, name: str) -> Path:
    jar = fetched / name
    if not jar.is_file():
        raise archive.CannotBuildError(name, "is missing", "run `make platform`, which fetches it")
    if sha256_of_file(jar) != sha256:
        raise archive.CannotBuildError(name, f"is not of SHA-256 {sha256}", "remove build/jars")
    return jar


def _zip_of_wheels(folder: Path) -> Contents:
    """Pack the packages that are installed in ``folder`` as wheels again: uv hands none out.

    Glue unpacks ``wheels/`` and runs pip on its ``requirements.txt``, with no other index.
    Scripts are left out, as jobs call none.
    """
    installed, notes = archive.installed_contents(folder), sorted(folder.glob("*.dist-info"))
    wheels = {
        f"wheels/{note.stem}-{_tags(note)}.whl": archive.archive_bytes(_wheel(note, installed))
        for note in notes
    }
    lines = ["==".join(note.stem.rsplit("-", 1)) for note in notes]
    return {**wheels, "wheels/requirements.txt": "".join(f"{line}\n" for line in lines).encode()}


def _wheel(note: Path, installed: Contents) -> Contents:
    """One package's files, and a list of exactly these in place of the installer's."""
    names = {str(file) for file in Distribution.at(note).files or ()}
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


_LIBRARY: Final = f"python{VERSION}"
_LEFT_OUT: Final = ("config-", "ensurepip", "idlelib", "site-packages", "test", "tkinter", "turtle")


def own_python(root: Path) -> Path | None:
    """The newest that ``make python-for-emr`` fetched into the checkout at ``root``, if it did."""
    found = (root / "build" / "python").glob(f"cpython-{VERSION}.*")
    return max(found, key=lambda one: int(one.name.split("-")[1].rpartition(".")[2]), default=None)


def write_environment(
    uv: Uv,
    *code: Contents,
    groups: Iterable[str] = ("jobs", "spark"),
    platform: Platform,
    scratch: Path,
    path: Path,
    python: Path | None,
) -> Path:
    """Write all packages of some groups, ``code``, and the CPython in ``python``, if one is given.

    That must be one for ``platform`` that runs wherever it is put.
    """
    parts = [*code] if python is None else [*code, _python_in(python)]
    for group in groups:  # Spark's own come with any, and must be of its version
        archive.install(uv, group, platform, scratch / group, without=("pyspark", "py4j"))
        parts.append(archive.installed_contents(scratch / group))
    return archive.write_archive(path, archive.merged(*parts))


def _python_in(folder: Path) -> Contents:
    """The program, its library and the modules that it brings, without those of no use in a job."""
    home = PurePosixPath(PYTHON).parents[1]
    found = archive.files_in(folder)
    return {f"{home}/{name}": path.read_bytes() for name, path in found if _is_of_use(str(name))}


def _is_of_use(name: str) -> bool:
    modules = f"lib/{_LIBRARY}/"
    if name.startswith(modules):
        return not name.removeprefix(modules).startswith(_LEFT_OUT)
    return name in (f"bin/{_LIBRARY}", f"lib/lib{_LIBRARY}.so.1.0")
