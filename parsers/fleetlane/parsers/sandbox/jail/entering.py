"""The jail, and how a child shuts itself in: without privileges, and for good."""

import ctypes
import os
import secrets
import stat
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from fleetlane.parsers.sandbox.jail.landlock import READ, WRITE, restrict
from fleetlane.parsers.sandbox.jail.seccomp import filter_calls
from fleetlane.parsers.sandbox.jail.system_calls import called, prctl

FILE_BYTES_MAX: Final = 16 << 20
FILES_MAX: Final = 256
FOLDER_BYTES_MAX: Final = 64 << 20
"""Of a child's own folder, and each file in it. The worker ends a child whose folder has more."""

OPEN_FILES_MAX: Final = 96
THREADS_MAX: Final = 64 + 4 * (os.cpu_count() or 1)
"""The worker ends a child with more: no limit of the kernel's binds root. Some are libraries'."""

_SET_DUMPABLE, _NO_NEW_PRIVILEGES = 4, 38
_CAPABILITIES_VERSION = 0x20080522


class Part(StrEnum):
    """What the jail is made of, where the kernel has it: see docs/sandbox.md."""

    RIGHTS = "rights"
    FILES = "files"
    CALLS = "calls"


@dataclass(frozen=True, slots=True, kw_only=True)
class Jail:
    """Which parts a child has, and its files: ``readable`` with the rights at each path.

    In ``folder`` each child gets a folder of its own, the only place where it may write.
    """

    parts: frozenset[Part]
    folder: str
    readable: tuple[tuple[str, int], ...] = ()

    def folder_of(self, pid: int) -> Path:
        return Path(self.folder) / str(pid)


def enter(jail: Jail, location: str | None) -> None:
    """Shut this process in. It has one thread, and what it has open stays open.

    Raises ``OSError`` where the kernel refuses a part: nothing of a parser's may run here then.
    """
    if not jail.parts:
        return
    own = jail.folder_of(os.getpid())
    own.mkdir(mode=0o700)
    os.environ["TMPDIR"] = tempfile.tempdir = str(own)  # noqa: TID251 - for whoever reads it later
    _mute()
    hide_memory()
    prctl(_NO_NEW_PRIVILEGES, 1)
    if Part.RIGHTS in jail.parts:
        header = (ctypes.c_uint32 * 2)(_CAPABILITIES_VERSION, 0)
        called("capset", ctypes.byref(header), ctypes.byref((ctypes.c_uint32 * 6)()))
    if Part.FILES in jail.parts:
        parser = [] if location is None else [(location, READ)]
        restrict([*jail.readable, (f"/proc/{os.getpid()}", READ), (str(own), WRITE), *parser])
    if Part.CALLS in jail.parts:
        filter_calls(may_write=Part.FILES in jail.parts)


def hide_memory() -> None:
    """Let no process of this user read this one's memory and environment, nor trace it."""
    prctl(_SET_DUMPABLE, 0)


def remove_folder(folder: Path) -> None:
    """Remove what is in it too, also where it may not be read: its owner may change that.

    What is in an inner folder first moves up: a path may be too long, and for a descriptor at each
    depth, as ``shutil.rmtree`` has it, there may be too few, or too little memory.
    """
    with suppress(OSError):  # it is not there
        folder.chmod(0o700)
        place = _opened(str(folder))
        try:
            while found := os.listdir(place):  # noqa: PTH208 - by its descriptor
                for one in found:
                    _remove_one(one, place)
        finally:
            os.close(place)
        folder.rmdir()


def _remove_one(name: str, place: int) -> None:
    """Remove what is in an open folder; folders that are in it get new names there."""
    if _is_removed(name, place):
        return
    inner = _opened(name, place)
    try:
        for one in os.listdir(inner):  # noqa: PTH208 - likewise
            if not _is_removed(one, inner):
                os.rename(one, secrets.token_hex(16), src_dir_fd=inner, dst_dir_fd=place)
    finally:
        os.close(inner)
    os.rmdir(name, dir_fd=place)


def _is_removed(name: str, place: int) -> bool:
    """Remove it, unless it is a folder: that may be read and moved from then on."""
    if stat.S_ISDIR(os.lstat(name, dir_fd=place).st_mode):
        os.chmod(name, 0o700, dir_fd=place)
        return False
    os.unlink(name, dir_fd=place)
    return True


def _opened(name: str, place: int | None = None) -> int:
    return os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=place)


def _mute() -> None:
    """Have no stream in common with the worker: its flags and length are the same for both."""
    null = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(null, stream)
    os.close(null)
