"""Parser artifacts on this machine: fetched once, unpacked, and shared by all of its workers."""

import fcntl
import os
import shutil
import tempfile
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import BinaryIO, Final, Protocol

from clients.flows.parser_store import ArtifactUnavailableError
from fleetlane.events.flows.artifacts import FlowArtifact
from fleetlane.parsers.artifacts.writing import unpack

BYTES_MAX: Final = 1 << 30
"""Of all unpacked artifacts. Only those that no worker uses make room for others."""


class Fetches(Protocol):
    """Where artifacts come from; raises as ``ParserStore`` does."""

    def fetch(self, artifact: FlowArtifact, path: Path) -> None: ...

    def answers(self, artifact: FlowArtifact) -> bool: ...


class ParserFolders:
    """A folder an artifact, named for its digest. For one thread of a worker.

    Beside each lies a lock: shared by the workers that use the folder, or fetch what belongs
    there; a worker that removes it needs it exclusively.
    """

    def __init__(self, store: Fetches, folder: Path, *, bytes_max: int = BYTES_MAX) -> None:
        self._store, self._folder, self._bytes_max = store, folder, bytes_max
        self._held: dict[str, BinaryIO] = {}

    def folder_of(self, artifact: FlowArtifact) -> Path:
        """The folder that an artifact is unpacked in; it stays until ``release_all``.

        Blocks while it is fetched.

        Raises:
            ArtifactMissingError, ArtifactChangedError, BadArtifactError: It cannot be used.
            ArtifactUnavailableError: S3 does not give it now, or there is no room.
        """
        target = self._folder / artifact.sha256
        if artifact.sha256 in self._held:
            return target
        try:
            with ExitStack() as failed:
                lock = failed.enter_context(self._locked(target))
                if not target.is_dir():
                    self._fetch(artifact, target)
                    self._make_room(target)
                os.utime(target)
                failed.pop_all()
        except OSError as problem:
            raise ArtifactUnavailableError(artifact.key, str(problem)) from problem
        self._held[artifact.sha256] = lock
        return target

    def answers(self, artifact: FlowArtifact) -> bool:
        """Whether artifacts can be asked for at all."""
        return self._store.answers(artifact)

    def release_all(self) -> None:
        """Let others make room; what is asked for again is most likely still there."""
        for lock in self._held.values():
            lock.close()
        self._held.clear()

    def _locked(self, target: Path) -> BinaryIO:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if self._folder.stat().st_uid != os.getuid():
            raise PermissionError(f"{self._folder} belongs to another user")
        lock = _lock_of(target).open("ab")
        fcntl.flock(lock, fcntl.LOCK_SH)
        return lock

    def _fetch(self, artifact: FlowArtifact, target: Path) -> None:
        """Unpack it beside its place, then move it there: others see it whole or not at all."""
        beside = Path(tempfile.mkdtemp(prefix=f"{target.name}.", dir=self._folder))
        try:
            zipped, unpacked = beside / "artifact.zip", beside / "unpacked"
            self._store.fetch(artifact, zipped)
            unpack(zipped, unpacked)
            unpacked.rename(target)
        except OSError:
            if not target.is_dir():  # else another worker was faster
                raise
        finally:
            shutil.rmtree(beside, ignore_errors=True)

    def _make_room(self, newest: Path) -> None:
        """Remove those that were used least recently, but none that a worker holds."""
        folders = [one for one in self._folder.iterdir() if one.is_dir() and one != newest]
        sizes = {one: _bytes_in(one) for one in (*folders, newest)}
        total = sum(sizes.values())
        for one in sorted(folders, key=_used_at):
            is_left_behind = bool(one.suffix)  # by a worker that ended while it fetched
            if (is_left_behind or total > self._bytes_max) and _removed(one):
                total -= sizes[one]


def _removed(folder: Path) -> bool:
    """Remove a folder, unless a worker holds it or fetches what belongs there."""
    with _lock_of(folder).open("ab") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        shutil.rmtree(folder, ignore_errors=True)
        return True


def _lock_of(folder: Path) -> Path:
    return folder.with_suffix(".lock")


def _used_at(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def _bytes_in(folder: Path) -> int:
    with suppress(FileNotFoundError):  # another worker removed it
        return sum(one.stat().st_size for one in folder.rglob("*") if one.is_file())
    return 0
