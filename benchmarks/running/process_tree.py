"""A process and all that it started: their CPU time, their memory, and the cores they run on."""

import os
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_UTIME, _STIME_AND_CHILDREN_END, _PARENT, _RESIDENT = 11, 15, 1, 21  # fields behind the name


def tree_cpu_s(root: int) -> float:
    """The CPU time of the tree under ``root``: user and system, reaped children included."""
    ticks = sum(sum(map(int, fields[_UTIME:_STIME_AND_CHILDREN_END])) for _, fields in _tree(root))
    return ticks / os.sysconf("SC_CLK_TCK")


def tree_cpu_s_by_pid(root: int) -> dict[int, float]:
    """The CPU time of each process that the tree has by now: its own, user and system."""
    of_one = slice(_UTIME, _UTIME + 2)
    ticks = {pid: sum(map(int, fields[of_one])) for pid, fields in _tree(root)}
    return {pid: of / os.sysconf("SC_CLK_TCK") for pid, of in ticks.items()}


def tree_resident_mib(root: int, *, with_root: bool = True) -> float:
    """The memory that the tree's processes have in RAM; what several share counts for each."""
    pages = sum(int(fields[_RESIDENT]) for pid, fields in _tree(root) if with_root or pid != root)
    return pages * os.sysconf("SC_PAGESIZE") / 2**20


def pin_tree(root: int, cores: set[int]) -> None:
    """Let all threads of the tree run on these cores alone, and all that they start later."""
    for pid, _ in _tree(root):
        for thread in Path(f"/proc/{pid}/task").glob("[0-9]*"):
            with suppress(OSError):  # it has ended in between
                os.sched_setaffinity(int(thread.name), cores)


def _tree(root: int) -> Iterator[tuple[int, list[str]]]:
    found, children = dict[int, list[str]](), defaultdict[int, list[int]](list)
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended in between
            continue
        found[int(entry.parent.name)] = fields
        children[int(fields[_PARENT])].append(int(entry.parent.name))
    waiting = [root]
    while waiting:
        pid = waiting.pop()
        if pid in found:
            yield pid, found[pid]
        waiting += children[pid]
