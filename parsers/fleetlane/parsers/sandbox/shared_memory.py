"""Memory that worker and child share, so that no body or record goes through a socket.

Input is written by the worker alone: the child cannot map it for writing. Output is sealed by the
child before its next message, and is from then on the same for ever. So what a parser writes
into memory later changes neither the messages behind it nor the results before it.
"""

import fcntl
import mmap
import os
from collections.abc import Sequence
from typing import Final

from fleetlane.events.errors import FleetlaneError

_SEAL_FUTURE_WRITE: Final = 0x10  # Linux 5.1; Python's fcntl has no name for it
_SIZE_SEALS: Final = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW
_SEALED: Final = _SIZE_SEALS | fcntl.F_SEAL_WRITE
_IOV_MAX: Final = 512


class ForgedReplyError(FleetlaneError):
    """What came from a child is nothing that our code in it would send: its parser meddled."""

    reason = "forged_reply"

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem

    def __str__(self) -> str:
        return f"the parser's process sent {self.problem}"


class WorkerMemory:
    """Memory that the worker may write and a child may only read; close it to give it back."""

    def __init__(self, size_bytes: int, name: str) -> None:
        self.descriptor = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(self.descriptor, size_bytes)
        self._map = mmap.mmap(self.descriptor, size_bytes)
        fcntl.fcntl(self.descriptor, fcntl.F_ADD_SEALS, _SIZE_SEALS | _SEAL_FUTURE_WRITE)
        self.view = memoryview(self._map)

    def close(self) -> None:
        self.view.release()
        self._map.close()
        os.close(self.descriptor)


class ProgressMemory:
    """One number that a child keeps up to date. A parser may forge it: it decides nothing alone."""

    def __init__(self) -> None:
        self.descriptor = os.memfd_create("progress", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(self.descriptor, mmap.PAGESIZE)
        fcntl.fcntl(self.descriptor, fcntl.F_ADD_SEALS, _SIZE_SEALS)
        self.number = progress_of(self.descriptor)

    def close(self) -> None:
        self.number.release()
        os.close(self.descriptor)


def progress_of(descriptor: int) -> memoryview:
    return memoryview(mmap.mmap(descriptor, mmap.PAGESIZE))[:8].cast("q")


def read_only(descriptor: int, size_bytes: int) -> memoryview:
    """Map what the worker wrote; the mapping lives as long as the view."""
    return memoryview(mmap.mmap(descriptor, size_bytes, prot=mmap.PROT_READ))


def sealed(buffers: Sequence[bytes | bytearray | memoryview], name: str) -> int:
    """Write buffers one behind the other into new memory, seal it, and give its descriptor."""
    descriptor = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    _write_all(descriptor, [memoryview(buffer).cast("B") for buffer in buffers if len(buffer)])
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, _SEALED | fcntl.F_SEAL_SEAL)
    return descriptor


def opened(descriptor: int, size_bytes: int) -> memoryview:
    """Map sealed memory that came from a child; the mapping lives as long as the view.

    Raises:
        ForgedReplyError: It could still be written or cut, or is of another size.
    """
    try:
        seals = fcntl.fcntl(descriptor, fcntl.F_GET_SEALS)
    except OSError:
        raise ForgedReplyError("a file that is no memory") from None
    if seals & _SEALED != _SEALED:
        raise ForgedReplyError("memory that it could still write")
    if os.fstat(descriptor).st_size != size_bytes:
        raise ForgedReplyError("memory of another size than it said")
    return read_only(descriptor, size_bytes)


def _write_all(descriptor: int, buffers: list[memoryview]) -> None:
    while buffers:
        written = os.writev(descriptor, buffers[:_IOV_MAX])
        while buffers and written >= len(buffers[0]):
            written -= len(buffers.pop(0))
        if buffers:
            buffers[0] = buffers[0][written:]
