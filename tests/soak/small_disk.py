"""A filesystem of its own for a folder, so small that it can be filled."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

_BALLAST: Final = "ballast"
_CHUNK_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallDisk:
    """A tmpfs at a folder; a context manager, which unmounts it. Needs root, or it is not there."""

    folder: Path
    size_mib: int

    @classmethod
    def mounted(cls, folder: Path, *, size_mib: int) -> Self | None:
        """Mount it; ``None`` where this machine does not let us."""
        folder.mkdir(parents=True, exist_ok=True)
        program = shutil.which("mount")
        if program is None:
            return None
        command = [program, "-t", "tmpfs", "-o", f"size={size_mib}m,mode=700", "tmpfs"]
        try:
            subprocess.run([*command, str(folder)], check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            return None
        return cls(folder=folder, size_mib=size_mib)

    def unmount(self) -> None:
        """Unmount it, at the latest when the last process has closed its files."""
        subprocess.run([shutil.which("umount") or "umount", "--lazy", str(self.folder)], check=True)

    @contextmanager
    def full(self) -> Iterator[None]:
        """Fill it for the block: whatever is written there fails."""
        ballast = self.folder / _BALLAST
        try:
            with ballast.open("wb", buffering=0) as file, suppress(OSError):
                while True:
                    file.write(bytes(_CHUNK_BYTES))
            yield
        finally:
            ballast.unlink(missing_ok=True)
