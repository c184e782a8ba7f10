"""The steps of a set-up: each makes one folder, and only when what it is made from has changed."""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

STAMP_NAME = ".made-from"


@dataclass(frozen=True)
class Checkout:
    """The root of the checkout and the environment variables, read once."""

    root: Path
    environment: Mapping[str, str]

    @property
    def build(self) -> Path:
        return self.root / "build"

    @property
    def venv(self) -> Path:
        return self.root / ".venv"

    @property
    def logs(self) -> Path:
        return self.build / "setup"


def say(line: str) -> None:
    """Show a line to the person who waits; on stderr, at once."""
    sys.stderr.write(f"{line}\n")


@dataclass(frozen=True)
class Step:
    """Makes ``folder``, which is current while its stamp holds ``key``.

    ``title`` says what is downloaded and how much; empty where nothing is. The stamp is a file
    inside the folder, so that removing the folder removes it too. It is written last: a folder
    whose making was interrupted has none. It names the folder's path as well, because an
    environment that was moved or copied has the old paths inside.
    """

    title: str
    folder: Path
    key: str
    make: Callable[[], None]

    def is_current(self) -> bool:
        return self._stamp() == self._expected_stamp()

    def take(self) -> None:
        """Make the folder; raises ``CannotSetUpError``."""
        if self.title:
            say(f"set-up: {self.title}")
        stamp = self._stamp()
        if stamp and not stamp.startswith(f"{self.folder}\n"):  # it was made at another path
            shutil.rmtree(self.folder)
        (self.folder / STAMP_NAME).unlink(missing_ok=True)  # until it is made whole again
        self.make()
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / STAMP_NAME).write_text(self._expected_stamp(), encoding="utf-8")

    def _expected_stamp(self) -> str:
        return f"{self.folder}\n{self.key}\n"

    def _stamp(self) -> str:
        try:
            return (self.folder / STAMP_NAME).read_text(encoding="utf-8")
        except FileNotFoundError:
            return ""


def make_ready(steps: Sequence[Step], *, lock: Path) -> None:
    """Take the steps that are not current, in order; returns at once when all are.

    ``lock`` keeps two set-ups of one checkout apart: the second waits. Raises ``CannotSetUpError``
    where something is missing; the steps taken so far stay.
    """
    if all(step.is_current() for step in steps):
        return
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("set-up: another set-up is running in this checkout; waiting for it")
            fcntl.flock(handle, fcntl.LOCK_EX)
        for step in steps:
            if not step.is_current():
                step.take()


def key_of(files: Iterable[Path]) -> str:
    """A digest of the files' names and bytes; a missing file counts as one."""
    digest = hashlib.sha256()
    for path in files:
        content = path.read_bytes() if path.is_file() else b""
        digest.update(f"{path.name} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()
