"""Landlock: the files that a parser's process may read, and the one folder that it may write in.

It also keeps it from the memory, environment and descriptors of processes outside, below ``/proc``
too; where the kernel is new enough from TCP, from abstract sockets, and from sending signals.
"""

import ctypes
import os
import stat
import struct
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Final

from fleetlane.parsers.sandbox.jail.system_calls import called

WRITE_FILE, READ_FILE, READ_DIR = 1 << 1, 1 << 2, 1 << 3
READ: Final = READ_FILE | READ_DIR
_REMOVE_DIR, _REMOVE_FILE, _MAKE_DIR, _MAKE_FILE = 1 << 4, 1 << 5, 1 << 7, 1 << 8
_REFER, _TRUNCATE, _IOCTL = 1 << 13, 1 << 14, 1 << 15
WRITE: Final = (
    READ | WRITE_FILE | _REMOVE_DIR | _REMOVE_FILE | _MAKE_DIR | _MAKE_FILE | _REFER | _TRUNCATE
)
"""In a folder of its own: plain files and folders; no links, sockets or devices."""

_OF_A_FILE: Final = READ_FILE | WRITE_FILE | _TRUNCATE
_FIRST_VERSION: Final = (1 << 13) - 1
_SINCE: Final = {_REFER: 2, _TRUNCATE: 3, _IOCTL: 5}
_TCP_SINCE, _SCOPES_SINCE = 4, 6
_BOTH: Final = 3
_ASK_VERSION, _BELOW_A_PATH = 1, 1


def restrict(allowed: Iterable[tuple[str, int]]) -> None:
    """Leave this thread, and all that it starts, what is ``allowed`` at paths; the rest is refused.

    Needs ``no_new_privs``. What is not there is left out, and a path may come twice.

    Raises ``OSError`` where the kernel has no Landlock.
    """
    known = called("landlock_create_ruleset", None, ctypes.c_size_t(0), _ASK_VERSION)
    handled = _FIRST_VERSION | sum(bit for bit, since in _SINCE.items() if known >= since)
    fields = [handled, *(_BOTH for since in (_TCP_SINCE, _SCOPES_SINCE) if known >= since)]
    attributes = struct.pack(f"={len(fields)}Q", *fields)
    rules = called(
        "landlock_create_ruleset", ctypes.c_char_p(attributes), ctypes.c_size_t(len(attributes)), 0
    )
    try:
        for path, rights in allowed:
            with suppress(FileNotFoundError, PermissionError, NotADirectoryError):
                _allow(rules, path, rights & handled)
        called("landlock_restrict_self", rules, 0)
    finally:
        os.close(rules)


def _allow(rules: int, path: str, rights: int) -> None:
    place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        if not stat.S_ISDIR(os.fstat(place).st_mode):
            rights &= _OF_A_FILE
        rule = ctypes.c_char_p(struct.pack("=Qi", rights, place))
        called("landlock_add_rule", rules, _BELOW_A_PATH, rule, 0)
    finally:
        os.close(place)


_OF_THE_SYSTEM: Final = (
    *("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/etc/ld.so.cache"),
    *("/usr/share/zoneinfo", "/usr/share/locale", "/etc/localtime"),
    *("/dev/urandom", "/dev/random", "/dev/zero", "/proc/cpuinfo", "/proc/meminfo"),
    *("/sys/devices/system/cpu", "/sys/devices/system/node"),
)
_INSTALLED_IN: Final = ("site-packages", "dist-packages")


def readable_paths(library_path: str) -> list[tuple[str, int]]:
    """What a parser's process has to read: the interpreter, libraries, and what they ask for.

    Each with the rights there. ``library_path`` is where the loader finds libraries.
    """
    prefixes = {sys.prefix, sys.base_prefix, sys.exec_prefix, sysconfig.get_path("stdlib")}
    whole = {*_OF_THE_SYSTEM, *(one for one in prefixes if one not in ("/", "/usr"))}
    whole.update(filter(os.path.isabs, library_path.split(":")))
    paths = [(one, READ) for one in sorted(whole)]
    for entry in sys.path:
        paths += _of_modules(entry)
    return [*paths, ("/dev/null", READ_FILE | WRITE_FILE)]


def _of_modules(entry: str) -> Iterator[tuple[str, int]]:
    """What can be imported from a place; not what else is there, as a job's folder has secrets."""
    if os.path.basename(entry) in _INSTALLED_IN or not os.path.isdir(entry):  # noqa: PTH119, PTH112
        yield entry, READ
        return
    yield entry, READ_DIR
    with os.scandir(entry) as found:
        for one in found:
            stem, suffix = os.path.splitext(one.name)  # noqa: PTH122 - no path
            is_package = stem == "fleetlane" or os.path.isfile(f"{one.path}/__init__.py")  # noqa: PTH113
            if is_package or suffix in (".py", ".so", ".dist-info", ".egg-info"):
                yield one.path, READ
