"""Whether the jail holds on this machine: each part is tried in a child, and by what it forbids."""

import ctypes
import errno
import json
import os
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

from fleetlane.parsers.sandbox.jail.entering import Jail, Part, enter

_ANSWER_BYTES_MAX: Final = 1 << 16
_ATTACH: Final = 16


def tested(jail: Jail) -> tuple[Jail, dict[str, str]]:
    """The jail with those of its parts that work here, and by name what is wrong with the others.

    Needs a process with one thread.
    """
    problems = {str(part): text for part in Part if (text := _problem(jail, part))}
    return replace(jail, parts=frozenset(jail.parts - {*map(Part, problems)})), problems


def _problem(jail: Jail, part: Part) -> str:
    """What is wrong with a part; empty if nothing is."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        text = "did not come to its end"
        try:
            text = _attempted(replace(jail, parts=frozenset({part})), part)
        finally:
            os.write(theirs, json.dumps(text).encode())
            os._exit(0)
    os.close(theirs)
    written = os.read(ours, _ANSWER_BYTES_MAX)
    os.close(ours)
    os.waitpid(child, 0)
    with suppress(OSError):
        jail.folder_of(child).rmdir()
    found: str = json.loads(written) if written else "ended the process that tried it"
    return found


def _attempted(jail: Jail, part: Part) -> str:
    try:
        enter(jail, None)
    except OSError as problem:
        return f"the kernel does not have it: {problem}"
    allowed = [name for name, act in _forbidden(jail)[part].items() if not _is_refused(act)]
    return f"it allows {', '.join(allowed)}" if allowed else _works(jail, part)


def _works(jail: Jail, part: Part) -> str:
    """What a parser needs and does not have."""
    try:
        thread = threading.Thread(target=int)
        thread.start()
        thread.join()
        if part is Part.FILES:
            kept = jail.folder_of(os.getpid()) / "kept"
            kept.write_bytes(b"1")
            kept.unlink()
    except (OSError, RuntimeError) as problem:
        return f"it keeps a parser from working: {problem}"
    return ""


def _is_refused(act: Callable[[], object]) -> bool:
    try:
        act()
    except OSError as problem:
        return problem.errno in (errno.EPERM, errno.EACCES, errno.EROFS, errno.ENOSYS)
    return False


def _trace() -> None:
    if ctypes.CDLL(None, use_errno=True).ptrace(_ATTACH, os.getppid(), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "ptrace")


def _forbidden(jail: Jail) -> dict[Part, dict[str, Callable[[], object]]]:
    parent, outside = os.getppid(), Path(jail.folder) / "outside"
    return {
        Part.RIGHTS: {"a privilege of root": lambda: os.setgroups([])},
        Part.FILES: {
            "reading its parent's environment": Path(f"/proc/{parent}/environ").read_bytes,
            "writing outside its folder": lambda: outside.write_bytes(b""),
            "listing /": lambda: os.listdir("/"),  # noqa: PTH208
        },
        Part.CALLS: {
            "a signal to its parent": lambda: os.kill(parent, 0),
            "a socket": socket.socket,
            "a process": lambda: os.fork() or os._exit(0),
            "another program": lambda: os.execv(sys.executable, ["python", "-V"]),  # noqa: S606 - refused
            "tracing its parent": _trace,
        },
    }
