"""What tests ask of the machine that they run on: its processes, their memory, and load."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.unit.parsers.sandbox.conftest import children_of

WAIT_S = 60.0

type Inode = tuple[int, int]


def descendants_of(pid: int) -> set[int]:
    children = set(children_of(pid))
    return children.union(*(descendants_of(child) for child in children))


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def wait_until(holds: Callable[[], bool]) -> bool:
    deadline_s = time.monotonic() + WAIT_S
    while not holds() and time.monotonic() < deadline_s:
        time.sleep(0.05)
    return holds()


def shared_memory_of(pid: int) -> set[Inode]:
    """The memory files that a process holds open or mapped, as far as we may look."""
    found = set[Inode]()
    for folder in ("fd", "map_files"):
        try:
            for link in Path(f"/proc/{pid}/{folder}").iterdir():
                if "/memfd:" in os.readlink(link):  # noqa: PTH115 - no path of a file that is there
                    held = link.stat()
                    found.add((held.st_dev, held.st_ino))
        except (FileNotFoundError, PermissionError, ProcessLookupError):
            continue
    return found


def holders_of(memory: set[Inode]) -> set[int]:
    """The processes of this machine that hold any of this memory."""
    pids = (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())
    return {pid for pid in pids if memory & shared_memory_of(pid)}


@contextmanager
def loaded_at_twice_its_cores() -> Iterator[None]:
    cores = os.cpu_count() or 1
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2 * cores)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()
