"""What can befall one part of a platform, and how it is over."""

import resource
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from local.servers.guard import signal_group
from local.servers.processes import ServerProcess

_BACK_WITHIN_S_MAX: Final = 90.0
_LOOK_AGAIN_S: Final = 0.1


@contextmanager
def frozen(part: ServerProcess) -> Iterator[None]:
    """A part that does nothing for the block, though its connections stay open."""
    group_id = part.pid
    assert group_id is not None, "not started yet"
    signal_group(group_id, signal.SIGSTOP)
    try:
        yield
    finally:
        signal_group(group_id, signal.SIGCONT)


def stopped_and_back(part: ServerProcess, *, answers: Callable[[], bool]) -> None:
    """Stop a part cleanly, and wait until whoever keeps it running has it answering again."""
    before = part.pid
    part.stop()
    give_up_s = time.monotonic() + _BACK_WITHIN_S_MAX
    while part.pid == before or not (part.is_alive() and answers()):
        assert time.monotonic() < give_up_s, f"{part.name} did not come back"
        time.sleep(_LOOK_AGAIN_S)


@contextmanager
def stopped(part: ServerProcess) -> Iterator[None]:
    """A part that is not there for the block. Nobody else may start it."""
    part.stop()
    try:
        yield
    finally:
        part.start()


@contextmanager
def without_room_for_files(part: ServerProcess) -> Iterator[None]:
    """A part whose disk is full: whatever it writes fails. Started anew after the block."""
    pid = part.pid
    assert pid is not None, "not started yet"
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
    try:
        yield
    finally:
        part.kill()
        part.start()
