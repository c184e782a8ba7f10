"""The system calls that the jail speaks of, by their numbers on this machine."""

import ctypes
import os
import platform
import tomllib
from collections.abc import Mapping
from importlib.resources import files
from typing import Final, Literal

AUDIT_ARCHITECTURES: Final = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

_libc: Final = ctypes.CDLL(None, use_errno=True)
_COLUMNS: Final = {"x86_64": 0, "aarch64": 1}
_TABLES: Final[Mapping[str, Mapping[str, list[int]]]] = tomllib.loads(
    files(__package__).joinpath("system_calls.toml").read_text(encoding="utf-8")
)


def numbers(table: Literal["plain", "writing", "checked"]) -> dict[str, int]:
    """The numbers of calls on this machine. Some it does not have; an unknown machine has none."""
    column = _COLUMNS.get(platform.machine(), len(_COLUMNS))
    return {name: row[column] for name, row in _TABLES[table].items() if column < len(row)}


def called(name: str, *arguments: object) -> int:
    """Make one of the checked calls; raises ``OSError`` where the kernel lacks or refuses it."""
    number = numbers("checked").get(name)
    if number is None:
        raise OSError(os.strerror(38), platform.machine())
    result: int = _libc.syscall(ctypes.c_long(number), *arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), name)
    return result


def prctl(operation: int, argument: int) -> None:
    """Change a property of this process; raises ``OSError`` where the kernel refuses."""
    if _libc.prctl(operation, ctypes.c_ulong(argument), 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), "prctl")
