"""Tells in milliseconds whether a folder is still what it was made from."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

STAMP_NAME = ".made-from"


@dataclass(frozen=True)
class Stamp:
    """A file inside the folder it speaks for, so that removing the folder removes the claim.

    Written last: a folder whose making was interrupted has none. It names the folder's place too,
    because an environment that was moved or copied has the old paths inside.
    """

    folder: Path
    key: str

    def is_current(self) -> bool:
        return self._text() == self._claim()

    def is_of_another_place(self) -> bool:
        text = self._text()
        return text != "" and not text.startswith(f"{self.folder}\n")

    def write(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / STAMP_NAME).write_text(self._claim(), encoding="utf-8")

    def _claim(self) -> str:
        return f"{self.folder}\n{self.key}\n"

    def _text(self) -> str:
        try:
            return (self.folder / STAMP_NAME).read_text(encoding="utf-8")
        except FileNotFoundError:
            return ""


def key_of(files: Iterable[Path]) -> str:
    """A digest of the files' names and bytes; a missing file counts as one."""
    digest = hashlib.sha256()
    for path in files:
        content = path.read_bytes() if path.is_file() else b""
        digest.update(f"{path.name} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()
