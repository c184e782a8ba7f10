"""Landlock: the files that this process may read, and the one folder that it may write in.

It also keeps it from the memory, environment and descriptors of processes outside, below ``/proc``
too; where the kernel is new enough from TCP, from abstract sockets, and from sending signals.
"""

import ctypes
import os
import stat
import struct
from collections.abc import Iterable, Mapping
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


def version() -> int:
    """The version of the kernel's Landlock.

    Raises:
        OSError: It has none.
    """
    return called("landlock_create_ruleset", None, ctypes.c_size_t(0), _ASK_VERSION)


def restrict(allowed: Iterable[tuple[str, int]]) -> None:
    """Leave this thread, and all that it starts, what is ``allowed`` at paths; the rest is refused.

    Needs ``no_new_privs``. What is not there is left out.

    Raises:
        OSError: The kernel has no Landlock.
    """
    known = version()
    handled = _FIRST_VERSION | sum(bit for bit, since in _SINCE.items() if known >= since)
    attributes = struct.pack(
        "=3Q", handled, _BOTH if known >= _TCP_SINCE else 0, _BOTH if known >= _SCOPES_SINCE else 0
    )[: 24 if known >= _SCOPES_SINCE else 16 if known >= _TCP_SINCE else 8]
    rules = called(
        "landlock_create_ruleset", ctypes.c_char_p(attributes), ctypes.c_size_t(len(attributes)), 0
    )
    try:
        for path, rights in _merged(allowed).items():
            with suppress(FileNotFoundError, PermissionError, NotADirectoryError):
                _allow(rules, path, rights & handled)
        called("landlock_restrict_self", rules, 0)
    finally:
        os.close(rules)


def _merged(allowed: Iterable[tuple[str, int]]) -> Mapping[str, int]:
    rights_of = dict[str, int]()
    for path, rights in allowed:
        rights_of[path] = rights_of.get(path, 0) | rights
    return rights_of


def _allow(rules: int, path: str, rights: int) -> None:
    place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        if not stat.S_ISDIR(os.fstat(place).st_mode):
            rights &= _OF_A_FILE
        rule = ctypes.c_char_p(struct.pack("=Qi", rights, place))
        called("landlock_add_rule", rules, _BELOW_A_PATH, rule, 0)
    finally:
        os.close(place)
