"""The Python environment of the jobs on EMR: nothing of it is the image's but what we leave out."""

from pathlib import Path, PurePosixPath
from typing import Final

from fleetlane.parsers.artifacts.building import Platform, Uv
from fleetlane.parsers.artifacts.writing import PYTHON as VERSION
from fleetlane.parsers.artifacts.writing import Contents
from infra.artifacts.archive import files_in, install, installed_contents, merged, write_archive
from infra.artifacts.folder import PYTHON

_SPARKS: Final = ("pyspark", "py4j")
"""Packages of the group that come with any Spark, and must be of its version."""

_LIBRARY: Final = f"python{VERSION}"
_LEFT_OUT: Final = ("config-", "ensurepip", "idlelib", "site-packages", "test", "tkinter", "turtle")


def own_python(root: Path) -> Path | None:
    """The CPython that ``make python-for-emr`` fetched into the checkout at ``root``, if it did."""
    return next(iter(sorted((root / "build" / "python").glob(f"cpython-{VERSION}.*"))), None)


def write_environment(
    uv: Uv, *, platform: Platform, scratch: Path, path: Path, python: Path | None
) -> Path:
    """Write all packages that the jobs import, and the CPython in ``python``, if one is given.

    That must be one for ``platform`` that runs wherever it is put.

    Raises:
        CannotBuildError: The packages cannot be installed.
    """
    parts: list[Contents] = [] if python is None else [_python_in(python)]
    for group in ("jobs", "spark"):
        install(uv, group, platform, scratch / group, without=_SPARKS)
        parts.append(installed_contents(scratch / group))
    return write_archive(path, merged(*parts))


def _python_in(folder: Path) -> Contents:
    """The program, its library and the modules that it brings, without those of no use in a job."""
    home = PurePosixPath(PYTHON).parents[1]
    return {
        str(home / path): (folder / path).read_bytes()
        for path in (found.relative_to(folder) for found in files_in(folder))
        if _is_needed(path.parts)
    }


def _is_needed(parts: tuple[str, ...]) -> bool:
    match parts:
        case ("bin", name):
            return name == _LIBRARY
        case ("lib", name):
            return name == f"lib{_LIBRARY}.so.1.0"
        case ("lib", library, first, *_) if library == _LIBRARY:
            return not first.startswith(_LEFT_OUT)
        case _:
            return False
