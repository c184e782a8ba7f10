"""A parser whose cost is set: it turns a loop, and gives one small event."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Spinning:
    """``loops`` is how often the loop turns for one message."""

    loops: int = 0

    def parse(self, message: bytes) -> Iterator[Mapping[str, object]]:
        total = 0
        for turn in range(self.loops):
            total += turn
        yield {"at": 1_762_178_709_123, "bytes": len(message), "total": total}
