"""The journal: every request that changed something, in the order in which they did.

A record is written before its request is answered. That outlives kill -9 of the process, which
leaves at most one torn record, of a request never answered, at the end. It is not synced to the
disk: a power failure may cost the last ones. docs/laptop.md has why it is not moto's recorder.
"""

import base64
import dataclasses
import json
import zlib
from collections.abc import Iterator
from pathlib import Path

from localstack_hostmode.draws import Draw


class JournalCorruptError(Exception):
    """A record is not what was written. Nothing behind it can be trusted."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """An HTTP request as it came in, and what it drew from chance and the clock (``draws``).

    The path is still encoded; the query lacks its ``?``.
    """

    method: str
    path: str
    query: str
    headers: list[tuple[str, str]]
    body: bytes
    draws: list[Draw] = dataclasses.field(default_factory=list)


class Journal:
    """The file: a line a record, a checksum and JSON. For one process.

    ``records`` must be read to the end before ``append``.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        self._file = path.open("a+b", buffering=0)
        self._end = 0

    def records(self) -> Iterator[Record]:
        """All records from the beginning; cuts off a torn one at the end.

        Raises ``JournalCorruptError`` where a whole record has the wrong checksum.
        """
        with self._path.open("rb") as source:
            self._end = 0
            for line in source:
                if not line.endswith(b"\n"):
                    break
                checksum, _, text = line.rstrip(b"\n").partition(b" ")
                if _checksum(text) != checksum:
                    raise JournalCorruptError(f"{self._path} is damaged at byte {self._end}")
                fields = json.loads(text)
                yield Record(**fields | {"body": base64.b64decode(fields["body"])})
                self._end += len(line)
        self._file.truncate(self._end)

    def append(self, record: Record) -> None:
        """Write a record whole, or, where the disk is full, not at all and raise."""
        fields = dataclasses.asdict(record) | {"body": base64.b64encode(record.body).decode()}
        text = json.dumps(fields).encode()
        line = b"%s %s\n" % (_checksum(text), text)
        left = memoryview(line)
        try:
            while left:
                left = left[self._file.write(left) :]
        except OSError:
            self._file.truncate(self._end)
            raise
        self._end += len(line)


def _checksum(text: bytes) -> bytes:
    return b"%08x" % zlib.crc32(text)
