"""Where a worker's machine keeps artifacts: unpacked once, and checked whenever they are loaded."""

import errno
import fcntl
import os
import subprocess
import sys
import tempfile
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep
from typing import BinaryIO, Final, Protocol

import orjson

from clients.flows.parser_store import ArtifactUnavailableError
from fleetlane.events.flows.artifacts import FlowArtifact
from fleetlane.parsers.artifacts.writing import digests_in, is_unpacked, unpack
from fleetlane.parsers.sandbox.jail.entering import remove_folder

BYTES_MAX: Final = 1 << 30
OWNER_SHARE: Final = 1 / 4
"""Of all artifacts but the one that each worker fetched last, and what of it is an owner's. Only
those that no worker uses make room for others; where they are too few, no more are fetched."""

FETCH_LOCK_S_MAX: Final = 5.0
_POLL_S: Final = 0.02

COMPILE_S_MAX: Final = 10.0
COMPILE_BYTES_MAX: Final = 1 << 30
_COMPILER: Final = f"""
import compileall, resource
resource.setrlimit(resource.RLIMIT_AS, ({COMPILE_BYTES_MAX}, {COMPILE_BYTES_MAX}))
compileall.main()
"""
_COMPILED: Final = "__pycache__/"
_BESIDE: Final = (".zip", ".compiled")
"""What an artifact was unpacked from, and the digests of what was compiled: to compare it with."""


class Fetches(Protocol):
    """Where artifacts come from; raises as ``ParserStore`` does."""

    def fetch(self, artifact: FlowArtifact, path: Path) -> None: ...
    def answers(self, artifact: FlowArtifact) -> bool: ...


class ParserFolders:
    """A folder an artifact, named for its owner and digest. For one thread of a worker.

    Beside each lies a lock: shared by the workers that use the folder, or fetch what belongs
    there; a worker that removes it needs it exclusively.
    """

    def __init__(self, store: Fetches, folder: Path, *, bytes_max: int = BYTES_MAX) -> None:
        self.store, self._folder, self._bytes_max = store, folder, bytes_max
        self._held: dict[str, BinaryIO] = {}

    def folder_of(self, artifact: FlowArtifact) -> Path:
        """The folder that an artifact is unpacked in; it stays until ``release_all``.

        Blocks while it is fetched.

        Raises:
            ArtifactMissingError, ArtifactChangedError, BadArtifactError: It cannot be used.
            ArtifactUnavailableError: S3 does not give it now, or there is no room.
        """
        target = self._target_of(artifact)
        if target.name in self._held:
            return target
        try:
            with ExitStack() as failed:
                lock = failed.enter_context(self._locked(target))
                if not self._is_whole(artifact, target):
                    with _fetch_lock(target.with_suffix(".fetching")):
                        if not self._is_whole(artifact, target):  # no other worker fetched it
                            self._make_room(target)
                            self._fetch(artifact, target)
                os.utime(target)
                failed.pop_all()
        except OSError as problem:
            raise ArtifactUnavailableError(artifact.key, str(problem)) from problem
        self._held[target.name] = lock
        return target

    def _target_of(self, artifact: FlowArtifact) -> Path:
        return self._folder / f"{artifact.owner}-{artifact.sha256}"

    def _is_whole(self, artifact: FlowArtifact, target: Path) -> bool:
        """Whether it is there, as published: a parser of others may have written into it."""
        try:
            compiled = orjson.loads(target.with_suffix(".compiled").read_bytes())
        except (OSError, orjson.JSONDecodeError):
            return False
        return is_unpacked(target.with_suffix(".zip"), artifact.sha256, target, compiled)

    def release_all(self, *, but: Collection[FlowArtifact] = ()) -> None:
        """Let others make room; what is asked for again is most likely still there."""
        kept = {self._target_of(one).name for one in but}
        for name in [name for name in self._held if name not in kept]:
            self._held.pop(name).close()

    def _locked(self, target: Path) -> BinaryIO:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if self._folder.stat().st_uid != os.getuid():
            raise PermissionError(errno.EPERM, f"{self._folder} belongs to another user")
        lock = target.with_suffix(".lock").open("ab")
        fcntl.flock(lock, fcntl.LOCK_SH)
        return lock

    def _fetch(self, artifact: FlowArtifact, target: Path) -> None:
        """Unpack it beside its place, then move it there: others see it whole or not at all."""
        beside = Path(tempfile.mkdtemp(prefix=f"{target.name}.", dir=self._folder))
        try:
            zipped, unpacked = beside / "artifact.zip", beside / "unpacked"
            self.store.fetch(artifact, zipped)
            unpack(zipped, unpacked)
            _compile(unpacked)
            with _alone_in(self._folder):
                if self._is_whole(artifact, target):  # another worker was faster
                    return
                if target.is_dir():
                    target.chmod(0o700)
                    target.rename(beside / "spoilt")
                zipped.replace(target.with_suffix(".zip"))
                compiled = {k: v for k, v in digests_in(unpacked).items() if _COMPILED in k}
                target.with_suffix(".compiled").write_bytes(orjson.dumps(compiled))
                unpacked.rename(target)
                _make_read_only(target)
        finally:
            remove_folder(beside)

    def _make_room(self, newest: Path) -> None:
        """Remove those that were used least recently; ``OSError`` where workers hold too many."""
        folders = [one for one in self._folder.iterdir() if one.is_dir() and one != newest]
        sizes = {one: _bytes_of(one) for one in folders}
        its_owners = {one for one in folders if _owner_of(one) == _owner_of(newest)}
        share = int(OWNER_SHARE * self._bytes_max)
        for among, bytes_max in (its_owners, share), (sizes, self._bytes_max):
            total = sum(size for one, size in sizes.items() if one in among)
            for one in sorted(among, key=_used_at):
                is_left_behind = bool(one.suffix)  # by a worker that ended while it fetched
                if (is_left_behind or total > bytes_max) and _removed(one):
                    total -= sizes.pop(one)
            if total > bytes_max:
                found = f"the artifacts in use have {total} bytes; the limit is {bytes_max} bytes"
                raise OSError(errno.ENOSPC, found)


@contextmanager
def _fetch_lock(path: Path) -> Iterator[None]:
    """Lets one worker fetch an artifact while the others wait, up to a limit."""
    with path.open("ab") as lock:
        until_s = monotonic() + FETCH_LOCK_S_MAX
        while monotonic() < until_s:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                sleep(_POLL_S)
        yield


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Of workers that fetched the same, one puts it in its place; the others find it there."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX)
        yield
    finally:
        os.close(opened)


def _removed(folder: Path) -> bool:
    """Remove a folder, unless a worker holds it or fetches what belongs there."""
    with folder.with_suffix(".lock").open("ab") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        for one in _beside(folder):
            one.unlink(missing_ok=True)
        remove_folder(folder)
        return True


def _compile(folder: Path) -> None:
    """Compile its modules: no child may write here, and each would compile them again.

    In a process of its own, as what is compiled is not ours. What that does not do is left.
    """
    command = [sys.executable, "-I", "-c", _COMPILER, "-qq", "--invalidation-mode"]
    with suppress(subprocess.TimeoutExpired):
        subprocess.run(  # noqa: S603 - our own interpreter
            [*command, "unchecked-hash", str(folder)],
            env={},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
            timeout=COMPILE_S_MAX,
        )


def _make_read_only(folder: Path) -> None:
    """Against mistakes: an owner can undo it. What holds is the digest, checked at each load."""
    for one in (*folder.rglob("*"), folder):
        one.chmod(0o555 if one.is_dir() else 0o444)


def _owner_of(folder: Path) -> str:
    return folder.name.rpartition("-")[0]


def _used_at(path: Path) -> float:
    with suppress(FileNotFoundError):  # another worker removed it
        return path.stat().st_mtime
    return 0.0


def _bytes_of(folder: Path) -> int:
    with suppress(FileNotFoundError):  # another worker removed it
        files = (*_beside(folder), *folder.rglob("*"))
        return sum(one.stat().st_size for one in files if one.is_file())
    return 0


def _beside(folder: Path) -> list[Path]:
    """What belongs to a folder; nothing where it was left behind: beside it is a good one's."""
    return [] if folder.suffix else [folder.with_suffix(suffix) for suffix in _BESIDE]
