"""What a JVM counts of itself, as ``jstat`` reads it: in a file that each JVM keeps open."""

import os
import pwd
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

_MAGIC: Final = b"\xca\xfe\xc0\xc0"
_PROLOGUE: Final = struct.Struct("<4s4xiiqii")
_ENTRY: Final = struct.Struct("<iii4ci")
_LONG: Final = b"J"
_MIB: Final = 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class Heap:
    """A JVM's heap: how large its young part is, what its old part held after the last collection.

    ``full_collections`` counts those that went through all of it.
    """

    young_mib: float
    old_mib: float
    full_collections: int

    @classmethod
    def of(cls, pid: int) -> Self | None:
        """Of a running JVM of ours; ``None`` where it keeps no counters."""
        try:
            user = pwd.getpwuid(os.geteuid()).pw_name  # as the JVM does, not as LOGNAME says
            counters = counters_in(Path(f"/tmp/hsperfdata_{user}/{pid}").read_bytes())  # noqa: S108 - where every JVM has them
            return cls(
                young_mib=counters["sun.gc.generation.0.capacity"] / _MIB,
                old_mib=counters["sun.gc.generation.1.space.0.used"] / _MIB,
                full_collections=counters["sun.gc.collector.1.invocations"],
            )
        except (OSError, KeyError, ValueError, struct.error):
            return None


def counters_in(file: bytes) -> Mapping[str, int]:
    """All whole numbers in such a file; raises ``ValueError`` where it is none."""
    return dict(_counters(file))


def _counters(file: bytes) -> Iterator[tuple[str, int]]:
    magic, _, _, _, offset, entries = _PROLOGUE.unpack_from(file)
    if magic != _MAGIC:
        raise ValueError("no counters of a JVM")
    for _ in range(entries):
        length, name_at, vector, kind, _, _, _, data_at = _ENTRY.unpack_from(file, offset)
        if kind == _LONG and vector == 0:
            begin = offset + name_at
            name = file[begin : file.index(b"\0", begin)].decode()
            yield name, struct.unpack_from("<q", file, offset + data_at)[0]
        offset += length
