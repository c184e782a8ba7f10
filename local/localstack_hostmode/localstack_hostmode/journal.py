"""The journal: every request that changed something, in the order in which they did.

A record is written before its request is answered. That outlives kill -9 of the process, which
leaves at most one torn record, of a request never answered, at the end. It is not synced to the
disk: a power failure may cost the last ones.
"""

import fcntl
import json
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

# Bytes of the description (JSON), bytes of the body, and a checksum over these two and both parts.
_HEADER = struct.Struct(">III")
_LENGTHS = struct.Struct(">II")


class JournalInUseError(Exception):
    """Another LocalStack has this journal open."""


class JournalCorruptError(Exception):
    """A record in the middle is not what was written. Nothing behind it can be trusted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """An HTTP request as it came in. The path is still encoded; the query lacks its ``?``."""

    method: str
    path: str
    query: str
    headers: list[tuple[str, str]]
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One request, and what it drew from chance and the clock (``draws``)."""

    request: Request
    draws: list[str | float]


class Journal:
    """The file, open and locked. ``records`` must be read to the end before ``append``."""

    def __init__(self, path: Path) -> None:
        """Open the journal, or begin one.

        Raises:
            JournalInUseError: Another process has it.
        """
        self._path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("a+b", buffering=0)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self._file.close()
            message = f"{path} is in use: another LocalStack runs on the same folder"
            raise JournalInUseError(message) from error
        self._end = 0

    def records(self) -> Iterator[Record]:
        """All records from the beginning; cuts off a torn one at the end.

        Raises:
            JournalCorruptError: A whole record has the wrong checksum.
        """
        with self._path.open("rb") as source:
            self._end = 0
            while len(header := source.read(_HEADER.size)) == _HEADER.size:
                description_bytes, body_bytes, checksum = _HEADER.unpack(header)
                description, body = source.read(description_bytes), source.read(body_bytes)
                if len(description) + len(body) < description_bytes + body_bytes:
                    break
                if _checksum(description, body) != checksum:
                    message = f"{self._path} is damaged at byte {self._end}"
                    raise JournalCorruptError(message)
                yield _record(description, body)
                self._end = source.tell()
        self._file.truncate(self._end)

    def append(self, record: Record) -> None:
        """Write a record whole, or, where the disk is full, not at all and raise."""
        description, body = _description(record), record.request.body
        header = _HEADER.pack(len(description), len(body), _checksum(description, body))
        data = memoryview(header + description + body)
        try:
            while data:
                data = data[self._file.write(data) :]
        except OSError:
            self._file.truncate(self._end)
            raise
        self._end += len(header) + len(description) + len(body)


def _checksum(description: bytes, body: bytes) -> int:
    lengths = _LENGTHS.pack(len(description), len(body))
    return zlib.crc32(body, zlib.crc32(description, zlib.crc32(lengths)))


def _description(record: Record) -> bytes:
    request = record.request
    return json.dumps(
        {
            "method": request.method,
            "path": request.path,
            "query": request.query,
            "headers": request.headers,
            "draws": record.draws,
        }
    ).encode()


def _record(description: bytes, body: bytes) -> Record:
    fields = json.loads(description)
    request = Request(
        method=fields["method"],
        path=fields["path"],
        query=fields["query"],
        headers=[(name, value) for name, value in fields["headers"]],
        body=body,
    )
    return Record(request=request, draws=fields["draws"])
