"""From a flow's rule to the program that a child runs: fetched if need be, and loaded once."""

import fcntl
import os
import shutil
import tempfile
from collections import Counter
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final, Protocol

import orjson

from clients.flows.parser_store import (
    ArtifactChangedError,
    ArtifactMissingError,
    ArtifactUnavailableError,
)
from fleetlane.events.flows.artifacts import BadArtifactError, FlowArtifact, is_of_a_team
from fleetlane.events.flows.files import PublishedFlows
from fleetlane.events.flows.flow import Flow, ParserRule
from fleetlane.events.lanes import LaneLimits
from fleetlane.parsers.artifacts.writing import unpack
from fleetlane.parsers.registry import UnknownParserError, find_parser
from fleetlane.parsers.sandbox.platforms import ParsesRuns
from fleetlane.parsers.sandbox.runs import Program

BYTES_MAX: Final = 1 << 30
"""Of all unpacked artifacts. Only those that no worker uses make room for others."""

FETCHES_MAX: Final = 3
"""So often in a row S3 may fail to give an artifact before that is no outage any more."""

_BROKEN = (ArtifactMissingError, ArtifactChangedError, BadArtifactError, UnknownParserError)


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


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundProgram:
    """A program that can be used, or ``problem`` says why not. ``parser`` is ``name@version``."""

    program: Program
    parser: str
    problem: str | None = None
    accepts_buffer: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingProgram:
    """There is no program. In an outage it may be available later."""

    problem: str
    is_outage: bool = False


type _Key = tuple[str, bytes, FlowArtifact | None]


class Programs:
    """Finds programs, and remembers what it found, until ``forget``."""

    def __init__(
        self, *, folders: ParserFolders, sandboxes: ParsesRuns, limits: LaneLimits
    ) -> None:
        self._folders, self._sandboxes, self._limits = folders, sandboxes, limits
        self._found: dict[_Key, FoundProgram | MissingProgram] = {}
        self._not_given: dict[str, MissingProgram] = {}
        self._not_given_in_a_row = Counter[str]()

    def forget(self) -> None:
        """Forget all programs, and release the artifacts."""
        self._found.clear()
        self._not_given.clear()
        self._folders.release_all()

    def of_rule(
        self, published: PublishedFlows, flow: Flow, rule: ParserRule
    ) -> FoundProgram | MissingProgram:
        """The program of a rule; blocks while its artifact is fetched and loaded."""
        options = orjson.dumps(rule.options, option=orjson.OPT_SORT_KEYS)
        key = rule.use, options, published.artifact(flow.owner, rule.use)
        if key not in self._found:
            self._found[key] = self._sought(*key)
        return self._found[key]

    def _sought(
        self, use: str, options: bytes, artifact: FlowArtifact | None
    ) -> FoundProgram | MissingProgram:
        if is_of_a_team(use) and artifact is None:
            return MissingProgram(problem=f"the published flows name no artifact of {use}")
        try:
            folder = None if artifact is None else self._folder_of(artifact)
            if isinstance(folder, MissingProgram):
                return folder
            parser = find_parser(use, None if folder is None else [folder])
        except _BROKEN as problem:
            return MissingProgram(problem=f"{type(problem).__name__}: {problem}")
        program = Program(
            use=use,
            options=options,
            memory_bytes_max=self._limits.memory_bytes_max,
            location=folder,
            niceness=self._limits.niceness,
        )
        load_problem = self._sandboxes.load_problem(program)
        return FoundProgram(
            program=program,
            parser=parser.identifier,
            problem=load_problem,
            accepts_buffer=load_problem is None and self._sandboxes.accepts_buffer(program),
        )

    def _folder_of(self, artifact: FlowArtifact) -> str | MissingProgram:
        """Where an artifact is. One that S3 did not give is not waited for again by others."""
        name = artifact.sha256
        if name in self._not_given:
            return self._not_given[name]
        try:
            folder = str(self._folders.folder_of(artifact))
        except ArtifactUnavailableError as problem:
            self._not_given[name] = missing = self._missing(artifact, problem)
            return missing
        self._not_given_in_a_row.pop(name, None)
        return folder

    def _missing(self, artifact: FlowArtifact, problem: ArtifactUnavailableError) -> MissingProgram:
        """An outage is no flow's fault; an object that S3 never gives is its own flow's."""
        is_s3_there = self._folders.answers(artifact)
        self._not_given_in_a_row[artifact.sha256] += is_s3_there
        is_never_given = self._not_given_in_a_row[artifact.sha256] >= FETCHES_MAX
        return MissingProgram(problem=str(problem), is_outage=not (is_s3_there and is_never_given))
