"""Token buckets that all workers of a machine share: two numbers in a small file each."""

import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path

from fleetlane.events.token_bucket import TokenBucket

_BYTES = 16


class SharedBucket(TokenBucket, kw_only=True, gc=False):
    """A bucket that others draw on too. What two take in the same instant may count as one."""

    memory: "memoryview[float]"

    def left_at(self, now_s: float) -> float:
        with self._read():
            return super().left_at(now_s)

    def overdraw(self, now_s: float, amount: float) -> None:
        with self._read():
            self.left = super().left_at(now_s) - amount

    @contextmanager
    def _read(self) -> Iterator[None]:
        self.left, self.at_s = self.memory
        if not self.at_s:  # nobody has drawn on it yet
            self.left = self.burst
        yield
        self.memory[0], self.memory[1] = self.left, self.at_s


def token_buckets(shared: Path | None, *, burst: float, per_s: float) -> dict[str, TokenBucket]:
    """A bucket for each name, full at first: this process's own, or those of all that say where."""
    if shared is None:
        return TokenBucket.by_name(burst=burst, per_s=per_s)
    return SharedBuckets(shared, burst=burst, per_s=per_s)


class SharedBuckets(dict[str, TokenBucket]):
    """A bucket for each name that is asked for, full at first: a file of ``folder`` each."""

    def __init__(self, folder: Path, *, burst: float, per_s: float) -> None:
        super().__init__()
        self._folder, self._burst, self._per_s = folder, burst, per_s

    def __missing__(self, name: str) -> TokenBucket:
        path = self._folder / blake2b(name.encode(), digest_size=16).hexdigest()
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with path.open("a+b") as file:
                os.posix_fallocate(file.fileno(), 0, _BYTES)  # else a full disk ends the process
                memory = memoryview(mmap.mmap(file.fileno(), _BYTES)).cast("d")
        except OSError:  # without room each worker counts for itself
            self[name] = TokenBucket.full(burst=self._burst, per_s=self._per_s, now_s=0)
        else:
            self[name] = SharedBucket(
                burst=self._burst, per_s=self._per_s, left=0, at_s=0, memory=memory
            )
        return self[name]
