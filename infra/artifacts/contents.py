"""What goes into an archive: folders of ours, wheels, installed packages."""

import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Final

from fleetlane.parsers.artifacts.building import is_shipped
from fleetlane.parsers.artifacts.writing import Contents
from infra.artifacts.failures import CannotBuildError

AWS_SERVICES: Final = frozenset({"s3", "dynamodb", "sts"})
"""The services that our code calls, and the one that issues credentials. boto3 knows 400 more."""

_SDKS: Final = frozenset({"boto3", "botocore"})


def source_contents(root: Path, folder: str) -> Contents:
    """All files of one of our folders, by their paths from ``root``.

    Raises:
        CannotBuildError: There are none.
    """
    contents = {
        path.relative_to(root).as_posix(): path.read_bytes() for path in _files_in(root / folder)
    }
    if not contents:
        raise CannotBuildError(folder, "holds no files", "run this from a whole checkout")
    return contents


def wheel_contents(wheel: Path) -> Contents:
    """All that a wheel of pure Python puts on the path, entry points included."""
    with zipfile.ZipFile(wheel) as archive:
        names = [entry.filename for entry in archive.infolist() if not entry.is_dir()]
        return {name: archive.read(name) for name in names if _is_needed(PurePosixPath(name))}


def installed_contents(folder: Path) -> Contents:
    """Installed packages without tests, type stubs, scripts and AWS services that we never call.

    Licences stay. What an installer wrote is left out: it differs from one machine to the next.
    """
    return {
        path.as_posix(): (folder / path).read_bytes()
        for path in (found.relative_to(folder) for found in _files_in(folder))
        if _is_needed(PurePosixPath(path))
    }


def _files_in(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts and not path.name.startswith("."):
            yield path


def _is_needed(path: PurePosixPath) -> bool:
    if not is_shipped(path) or "tests" in path.parts[:-1]:
        return False
    return not _is_of_another_service(path.parts)


def _is_of_another_service(parts: tuple[str, ...]) -> bool:
    match parts:
        case (sdk, "data", service, _, *_) if sdk in _SDKS:
            return service not in AWS_SERVICES
        case _:
            return False
