"""A platform's data folder: one platform at a time, and where others find it."""

import fcntl
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from fleetlane.events.errors import FleetlaneError
from operations.endpoints import Endpoints, PlatformNotRunningError

_LOCK: Final = "lock"
_ENDPOINTS: Final = "endpoints.json"


class FolderInUseError(FleetlaneError):
    """Another platform runs on the data folder."""

    folder: Path
    sentence = (
        "a platform runs on {folder} already: stop it first"
        " (./fleetlane up --data DIR takes another folder)"
    )


class FolderNotOursError(FleetlaneError):
    """A folder is to be emptied that no platform ever ran on."""

    folder: Path
    sentence = "{folder} is not emptied: it holds files, and no platform ever ran on it"


@contextmanager
def taken_data_folder(folder: Path, *, fresh: bool = False) -> Iterator[None]:
    """Hold a data folder for one platform, and empty it first if it is to be ``fresh``.

    It is free however this process ends. Raises ``FolderInUseError``, ``FolderNotOursError``.
    """
    if fresh and folder.exists() and any(folder.iterdir()) and not (folder / _LOCK).exists():
        raise FolderNotOursError(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / _LOCK).open("ab") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise FolderInUseError(folder) from None
        if fresh:
            for path in folder.iterdir():
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path)
                elif path.name != _LOCK:
                    path.unlink()
        yield


@contextmanager
def announced(endpoints: Endpoints, folder: Path) -> Iterator[None]:
    """Keep ``endpoints.json`` in the folder for as long as the platform runs."""
    path = folder / _ENDPOINTS
    endpoints.write(path)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


def endpoints_of(folder: Path) -> Endpoints:
    """Where the platform on this folder answers; one that was killed no longer counts."""
    endpoints = Endpoints.read(folder / _ENDPOINTS)
    try:
        with suppress(FileNotFoundError), (folder / _LOCK).open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return endpoints
    raise PlatformNotRunningError(folder)
