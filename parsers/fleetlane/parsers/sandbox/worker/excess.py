"""Limits that a child cannot lift, as the worker sets or watches them."""

import os
import resource
from contextlib import suppress
from pathlib import Path
from typing import Final

from fleetlane.parsers.sandbox.canonical_records import OUTPUT_BYTES_MAX
from fleetlane.parsers.sandbox.jail.entering import FILES_MAX, FOLDER_BYTES_MAX, THREADS_MAX
from fleetlane.parsers.sandbox.stopwatch import proc_file

_COUNTS_MAX: Final = 20
BEYOND_BYTES: Final = 2 * OUTPUT_BYTES_MAX + (1 << 30)
"""For the output and for the largest body, mapped and copied: of address space, once the parser is
loaded; and of resident memory, always."""

_NOT_THREADS = 2
"""Links of a folder that has no folders in it."""


def excess_of(pid: int, folder: str, *, resident_bytes_max: int) -> str | None:
    """What of a child is over its limit, if any is: threads, memory, or the files in its folder.

    Takes some microseconds for a child that has left no files.
    """
    try:
        threads = os.stat(f"/proc/{pid}/task").st_nlink - _NOT_THREADS  # noqa: PTH116 - often
        if threads > THREADS_MAX:
            return f"its process had {threads} threads; the limit is {THREADS_MAX}"
        resident = resident_bytes(pid)
        if threads > 1 and not resident:
            return "its first thread has ended"
        if resident > resident_bytes_max:
            return f"its process had {resident} bytes; the limit is {resident_bytes_max} bytes"
        return _excess_in(folder)
    except FileNotFoundError:  # it has ended
        return None
    except OSError as problem:
        return f"its folder cannot be read: {problem.strerror}"


def _excess_in(folder: str) -> str | None:
    for _ in range(_COUNTS_MAX):
        with suppress(FileNotFoundError):  # a folder in it was moved or removed meanwhile
            return _counted(folder)
    return "its folders do not keep still" if Path(folder).is_dir() else None


def _counted(folder: str) -> str | None:
    files, size_bytes, waiting = 0, 0, [folder]
    while waiting:
        with os.scandir(waiting.pop()) as found:
            for one in found:
                files += 1
                with suppress(FileNotFoundError):
                    size_bytes += one.stat(follow_symlinks=False).st_size
                if files > FILES_MAX or size_bytes > FOLDER_BYTES_MAX:
                    return f"its folder had {files} files with {size_bytes} bytes or more"
                if one.is_dir(follow_symlinks=False):
                    waiting.append(one.path)
    return None


def resident_bytes(pid: int) -> int:
    """Memory that a child uses, shared or its own; 0 where it has ended."""
    try:
        return int(proc_file(pid, "statm").split()[1]) * resource.getpagesize()
    except (ProcessLookupError, FileNotFoundError):
        return 0


def bind_memory(pid: int, memory_bytes_max: int) -> None:
    """Limit the address space of a child whose parser is loaded, above what it sets itself."""
    # It has ended; or a thread of its parser has limited it more, which only root undoes.
    with suppress(ProcessLookupError, FileNotFoundError, PermissionError):
        pages = int(proc_file(pid, "statm").split()[0])
        most = pages * resource.getpagesize() + memory_bytes_max + BEYOND_BYTES
        limits = resource.prlimit(pid, resource.RLIMIT_AS)
        soft, hard = (most if one == resource.RLIM_INFINITY else min(one, most) for one in limits)
        resource.prlimit(pid, resource.RLIMIT_AS, (soft, hard))
