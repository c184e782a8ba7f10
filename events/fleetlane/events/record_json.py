"""A Kafka record as one line of JSON, whole: what ``tail --json`` prints and others read back.

docs/parsers.md has its form. Only ``headers`` and ``value`` must be there.
"""

import json
from base64 import b64encode
from collections.abc import Mapping

import msgspec

from fleetlane.events.envelope import Header, Record
from fleetlane.events.errors import FleetlaneError


class BadRecordJsonError(FleetlaneError):
    """A line is not a record as ``tail --json`` prints it."""

    problem: str
    sentence = "is no record as `fleetlane tail --json` prints one: {problem}"


class NotText(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes that are not UTF-8."""

    base64: bytes


class ExportedRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A record read back. Its position is known if the line has it."""

    written_headers: tuple[tuple[str, str | NotText | None], ...] = msgspec.field(name="headers")
    value: bytes | None
    topic: str | None = None
    partition: int | None = None
    offset: int | None = None
    timestamp_ms: int | None = None
    written_key: str | NotText | None = msgspec.field(name="key", default=None)

    @property
    def headers(self) -> tuple[Header, ...]:
        return tuple((name, _bytes(written)) for name, written in self.written_headers)

    @property
    def key(self) -> bytes | None:
        return _bytes(self.written_key)


def record_json(record: Record) -> str:
    """Write a record as one line, without the line's end. Lossless."""
    return json.dumps(record_fields(record))


def record_fields(record: Record) -> Mapping[str, object]:
    return {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp_ms": record.timestamp_ms,
        "key": _written(record.key),
        "headers": [[name, _written(value)] for name, value in record.headers],
        "value": None if record.value is None else b64encode(record.value).decode(),
    }


def record_from_json(line: str | bytes) -> ExportedRecord:
    """Read a line that ``record_json`` wrote. Fields that it does not know are ignored.

    Raises ``BadRecordJsonError``.
    """
    try:
        return msgspec.json.decode(line, type=ExportedRecord)
    except (msgspec.DecodeError, UnicodeError) as problem:
        raise BadRecordJsonError(str(problem)) from None


def _written(value: bytes | None) -> object:
    if value is None:
        return None
    try:
        return value.decode()
    except UnicodeDecodeError:
        return {"base64": b64encode(value).decode()}


def _bytes(written: str | NotText | None) -> bytes | None:
    if isinstance(written, NotText):
        return written.base64
    return None if written is None else written.encode()
