"""Memory that worker and child share, so that no body goes through a socket.

Input is written by the worker alone: the child cannot map it for writing, so nothing that a parser
writes changes the messages behind it. Output does go through a socket: what is sent, no parser can
reach any more. Sealed memory would do the same, at three times the price: its pages are new ones
each time, where the kernel has some at hand for a socket.
"""

import fcntl
import mmap
import os
from typing import Final

_SEAL_FUTURE_WRITE: Final = 0x10  # Linux 5.1; Python's fcntl has no name for it
_SIZE_SEALS: Final = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW


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


def read_only(descriptor: int, size_bytes: int) -> mmap.mmap:
    """Map what the worker wrote. A slice of it is ``bytes``, copied once."""
    return mmap.mmap(descriptor, size_bytes, prot=mmap.PROT_READ)
