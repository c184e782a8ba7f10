"""What a child reads about its own process, every few messages."""

import os
import resource


class OwnProcess:
    """Keeps the files of ``/proc`` open: opening one costs ten times as much as reading it.

    A parser that closes them ends its child, as it would by closing the child's socket.
    """

    def __init__(self) -> None:
        folder = f"/proc/{os.getpid()}"
        self._threads = os.open(f"{folder}/task", os.O_RDONLY | os.O_DIRECTORY)
        self._children = os.open(f"{folder}/task/{os.getpid()}/children", os.O_RDONLY)
        self._memory = os.open(f"{folder}/statm", os.O_RDONLY)
        self._scheduling = _opened_if_there(f"{folder}/schedstat")

    def threads_and_children(self) -> tuple[int, bytes]:
        """The number of threads here, and the processes that the first of them started."""
        threads = len(os.listdir(self._threads))  # noqa: PTH208 - a descriptor, no path
        return threads, _text(self._children)

    def address_space_bytes(self) -> int:
        return int(_text(self._memory).split()[0]) * resource.getpagesize()

    def waited_ns(self) -> int:
        """How long the first thread has waited for a CPU; 0 where the kernel does not count it."""
        return 0 if self._scheduling is None else int(_text(self._scheduling).split()[1])


def _opened_if_there(path: str) -> int | None:
    try:
        return os.open(path, os.O_RDONLY)
    except FileNotFoundError:  # this kernel does not count
        return None


def _text(descriptor: int) -> bytes:
    text = b""
    while part := os.pread(descriptor, 4096, len(text)):
        text += part
    return text
