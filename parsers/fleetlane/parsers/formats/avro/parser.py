"""Avro by its schemas, which the flow holds or the message brings along."""

import re
import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from fleetlane.parsers.contract import MalformedMessage
from fleetlane.parsers.document_events import EventsInDocument
from fleetlane.parsers.formats.avro.schema import ReadData, compile_schema
from fleetlane.parsers.formats.avro.source import Source
from fleetlane.parsers.json_domain import BytesAs
from fleetlane.parsers.package_files import package_file

_FRAME = struct.Struct(">BI")
_ID = re.compile(r"0|[1-9][0-9]{0,9}")
_SUFFIX = ".avsc"


@dataclass(frozen=True, slots=True, kw_only=True)
class Avro(EventsInDocument):
    """Each record is a document: one event, or where ``events_at`` says.

    Without schemas, a message is a container file; with some, it is one record in Confluent's
    framing: a zero byte, the schema's id in four bytes, big-endian, the record. A count or length
    is not believed before its bytes are there. docs/formats.md has options, values and limits.
    """

    schemas: Mapping[str, str] = field(default_factory=dict)
    schemas_from: str = ""
    bytes_as: BytesAs = "base64url"
    _read_by_id: Mapping[int, ReadData] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        EventsInDocument.__post_init__(self)
        carried = _schemas_in(self.schemas_from) if self.schemas_from else {}
        for name in carried.keys() & self.schemas.keys():
            raise ValueError(f"schema {name} is in schemas and in {self.schemas_from!r} too")
        texts = {**carried, **self.schemas}
        compiled = (_compiled(name, text, self.bytes_as) for name, text in texts.items())
        object.__setattr__(self, "_read_by_id", dict(compiled))

    def parse(self, message: bytes) -> Iterator[Mapping[str, object]]:
        framed = bool(self._read_by_id)
        records = self._record(message) if framed else container_records(message, self.bytes_as)
        for record in records:
            yield from self.events_in(record)

    def _record(self, message: bytes) -> Iterator[object]:
        if len(message) < _FRAME.size:
            raise MalformedMessage(f"{len(message)} bytes; the framing alone has {_FRAME.size}")
        magic, schema_id = _FRAME.unpack_from(message)
        if magic:
            raise MalformedMessage(f"the first byte is 0x{magic:02x}; allowed: 0x00")
        if schema_id not in self._read_by_id:
            known = ", ".join(map(str, sorted(self._read_by_id)))
            raise MalformedMessage(f"no schema {schema_id}; known: {known}")
        return self._read_by_id[schema_id](message, _FRAME.size, 1)


def _schemas_in(folder: str) -> Mapping[str, str]:
    found = package_file(folder)
    if not found.is_dir():
        raise ValueError(f"{folder!r} is no folder")
    schemas = {
        file.name.removesuffix(_SUFFIX): file.read_text(encoding="utf-8")
        for file in found.iterdir()
        if file.name.endswith(_SUFFIX)
    }
    if not schemas:
        raise ValueError(f"{folder!r} has no {_SUFFIX} files")
    return schemas


def _compiled(name: str, text: str, bytes_as: BytesAs) -> tuple[int, ReadData]:
    if not _ID.fullmatch(name) or int(name) >= 1 << 32:
        raise ValueError(f"{name!r:.80} is no schema's id: an integer of 32 bits")
    try:
        return int(name), compile_schema(text.encode(), bytes_as)
    except ValueError as problem:
        raise ValueError(f"schema {name}: {problem}") from None


INFLATED_BYTES_MAX = 64 << 20
"""All blocks of one file together."""

_MAGIC = b"Obj\x01"
_SYNC_BYTES = 16
_CHECKSUM_BYTES = 4  # of zlib's format: some writers leave a part of it behind the deflated bytes


def container_records(message: bytes, bytes_as: BytesAs) -> Iterator[object]:
    """Yield the records of one file, in JSON's values.

    Raises ``MalformedMessage`` where it is no container file, its schema or codec is not allowed,
    or a block is not what it claims to be.
    """
    source = Source(message)
    if not message.startswith(_MAGIC):
        start = message[: len(_MAGIC)].hex() or "nothing"
        raise MalformedMessage(f"starts with {start}; a file with {_MAGIC.hex()}")
    source.at = len(_MAGIC)
    metadata = _metadata(source)
    read, codec = _reader(metadata, bytes_as), metadata.get(b"avro.codec", b"null")
    if codec not in (b"null", b"deflate"):
        raise MalformedMessage(f"codec {codec!r:.80}; allowed: null, deflate")
    sync = source.take(_SYNC_BYTES)
    bytes_left = INFLATED_BYTES_MAX
    while source.at < len(message):
        count, block = source.long(), source.take(source.long())
        if source.take(_SYNC_BYTES) != sync:
            raise source.malformed("a block ends without the file's sync marker")
        records = block if codec == b"null" else _inflated(block, bytes_left)
        bytes_left -= len(records)
        if not 0 <= count <= len(records):
            raise source.malformed(f"a block claims {count} records in {len(records)} bytes")
        yield from read(records, 0, count)


def _metadata(source: Source) -> Mapping[bytes, bytes]:
    metadata: dict[bytes, bytes] = {}
    for count in source.block_counts():
        for _ in range(count):
            key = source.take(source.long())
            if key in metadata:
                raise source.malformed(f"key {key!r:.80} is repeated within the file's metadata")
            metadata[key] = source.take(source.long())
    return metadata


def _reader(metadata: Mapping[bytes, bytes], bytes_as: BytesAs) -> ReadData:
    if b"avro.schema" not in metadata:
        raise MalformedMessage("the file's metadata has no avro.schema")
    try:
        return compile_schema(metadata[b"avro.schema"], bytes_as)
    except ValueError as problem:
        raise MalformedMessage(f"the file's schema: {problem}") from None


def _inflated(block: bytes, bytes_max: int) -> bytes:
    inflating = zlib.decompressobj(wbits=-zlib.MAX_WBITS)
    try:
        records = inflating.decompress(block, bytes_max + 1)
    except zlib.error as problem:
        raise MalformedMessage(f"a block cannot be inflated: {problem}") from None
    if len(records) > bytes_max:
        raise MalformedMessage(f"the blocks inflate to over {INFLATED_BYTES_MAX} bytes together")
    if not inflating.eof or len(inflating.unused_data) > _CHECKSUM_BYTES:
        raise MalformedMessage("a block's deflated bytes are cut short, or go on after their end")
    return records
