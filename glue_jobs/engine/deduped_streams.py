"""Which streams ever had a topic without repeats: it is filled, and read, from then on."""

from collections.abc import Mapping
from typing import Final, Protocol

import msgspec

_NOTE: Final = "deduplicated.json"


class Files(Protocol):
    """The folder of the checkpoints; ``HadoopFiles`` is one."""

    def read(self, name: str) -> bytes | None: ...
    def write(self, name: str, content: bytes) -> None: ...


class DedupedStreams:
    """Remembered beside the checkpoints, so that both are lost together or not at all.

    One process writes it. Both methods raise ``FilesUnavailableError`` as ``HadoopFiles`` does.
    """

    def __init__(self, files: Files) -> None:
        self._files = files

    def windows_s(self) -> Mapping[str, int]:
        """Each such stream, with the window that it had last."""
        note = self._files.read(_NOTE)
        return {} if note is None else msgspec.json.decode(note, type=dict[str, int])

    def remember(self, windows_s: Mapping[str, int]) -> None:
        self._files.write(_NOTE, msgspec.json.encode(dict(windows_s), order="deterministic"))
