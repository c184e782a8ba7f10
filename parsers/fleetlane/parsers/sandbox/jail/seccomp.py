"""A filter of system calls: what is not on a list is refused, and can be allowed no more.

A list of what is allowed, not of what is not: Linux has some 460 calls and more every year, by
which a process reaches others (``ptrace``, ``process_vm_readv``, ``keyctl``, ``io_uring``). Those
that a parser's process needs for itself are some hundred, and change no more. What fails is an
``OSError`` in the parser, as on a system where it may not; what is newer than the list "does not
exist", so that libraries go an older way.
"""

import ctypes
import errno
import os
import platform
import struct
from collections.abc import Iterator, Sequence
from typing import Final

from fleetlane.parsers.sandbox.jail import system_calls

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _AND, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
_ALLOWED, _KILLED, _REFUSED_WITH = 0x7FFF0000, 0x80000000, 0x00050000
_NUMBER_AT, _ARCHITECTURE_AT, _ARGUMENTS_AT = 0, 4, 16
_SET_FILTER, _WITHOUT_SLOWING = 1, 4
"""Kernels before 5.16 make all of a filtered process slower, unless told not to."""

_FIRST_NEW: Final = 424
"""From here on numbers are the same on all machines, and calls newer than any fallback."""

_THREAD: Final = 0x10D00
_NOT_OF_A_THREAD: Final = 0x7E022000
"""``CLONE_VM``, ``_FILES``, ``_SIGHAND`` and ``_THREAD``: threads share the 96 files that they may
have open; ``CLONE_PTRACE`` and what makes namespaces."""

_FCNTL: Final = (*range(8), *range(36, 39), 1030, 1032, 1034)
"""Not ``F_SETOWN`` and ``F_SETSIG``: they have the kernel send signals to others."""

_IOCTL: Final = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)
"""``TCGETS``, as every ``open`` in Python asks it, and what sets a descriptor's own flags."""

_PRCTL: Final = (15, 16, 0x53564D41)
"""A thread's name, and that of a piece of memory."""

_OPENED_TO_WRITE: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | 0o20000000

type Instruction = tuple[int, int, int, int]


def filter_calls(*, may_write: bool) -> None:
    """Filter the calls of this thread, and of all that it starts, for good.

    Needs ``no_new_privs``. With ``may_write`` something else says which files; without, none.

    Raises ``OSError`` where the kernel has no filters, or there are none for this machine.
    """
    if platform.machine() not in system_calls.AUDIT_ARCHITECTURES:
        raise OSError(errno.ENOSYS, "no filter is known for", platform.machine())
    written = b"".join(struct.pack("=HBBI", *one) for one in _program(may_write=may_write))
    instructions = ctypes.create_string_buffer(written, len(written))
    program = struct.pack("@HP", len(written) // 8, ctypes.addressof(instructions))
    system_calls.called("seccomp", _SET_FILTER, _WITHOUT_SLOWING, ctypes.c_char_p(program))


def _program(*, may_write: bool) -> Iterator[Instruction]:
    yield _LOAD, 0, 0, _ARCHITECTURE_AT
    yield _EQUAL, 1, 0, system_calls.AUDIT_ARCHITECTURES[platform.machine()]
    yield _RETURN, 0, 0, _KILLED
    yield _LOAD, 0, 0, _NUMBER_AT
    writing = system_calls.numbers("writing") if may_write else {}
    for number in (system_calls.numbers("plain") | writing).values():
        yield _EQUAL, 0, 1, number
        yield _RETURN, 0, 0, _ALLOWED
    checked = system_calls.numbers("checked")
    for name, body in _checks(may_write=may_write).items():
        if name in checked:
            yield _EQUAL, 0, len(body), checked[name]
            yield from body
    yield _AT_LEAST, 0, 1, _FIRST_NEW
    yield _RETURN, 0, 0, _REFUSED_WITH | errno.ENOSYS
    yield _RETURN, 0, 0, _REFUSED_WITH | errno.EPERM


def _checks(*, may_write: bool) -> dict[str, Sequence[Instruction]]:
    own = os.getpid()
    flags = 0 if may_write else _OPENED_TO_WRITE
    return {
        "open": _without(1, flags),
        "openat": _without(2, flags),
        "clone": [
            (_LOAD, 0, 0, _ARGUMENTS_AT),
            (_AND, 0, 0, _THREAD | _NOT_OF_A_THREAD),
            *_one_of((_THREAD,)),
        ],
        **dict.fromkeys(("kill", "tkill", "tgkill"), _argument(0, (own,))),
        **dict.fromkeys(("prlimit64", "sched_setaffinity"), _argument(0, (0, own))),
        "fcntl": _argument(1, _FCNTL),
        "ioctl": _argument(1, _IOCTL),
        "prctl": _argument(0, _PRCTL),
    }


def _argument(place: int, allowed: Sequence[int]) -> list[Instruction]:
    """Allow a call whose argument is one of these. The kernel takes 32 bits of all of them."""
    return [(_LOAD, 0, 0, _ARGUMENTS_AT + 8 * place), *_one_of(allowed)]


def _one_of(allowed: Sequence[int]) -> list[Instruction]:
    yes = (_RETURN, 0, 0, _ALLOWED)
    checks = [part for one in allowed for part in ((_EQUAL, 0, 1, one), yes)]
    return [*checks, (_RETURN, 0, 0, _REFUSED_WITH | errno.EPERM)]


def _without(place: int, bits: int) -> list[Instruction]:
    load = (_LOAD, 0, 0, _ARGUMENTS_AT + 8 * place)
    refused = (_RETURN, 0, 0, _REFUSED_WITH | errno.EROFS)
    return [load, (_ANY_BIT, 0, 1, bits), refused, (_RETURN, 0, 0, _ALLOWED)]
