"""Container files: a schema, then blocks of records."""

import zlib
from collections.abc import Callable, Iterator, Mapping

from fleetlane.parsers.contract import MalformedMessage
from fleetlane.parsers.formats.avro.schema import ReadData, compile_schema
from fleetlane.parsers.formats.avro.source import Source
from fleetlane.parsers.json_domain import BytesAs

INFLATED_BYTES_MAX = 64 << 20
"""All blocks of one file together."""

_MAGIC = b"Obj\x01"
_SYNC_BYTES = 16
_CHECKSUM_BYTES = 4  # of zlib's format: some writers leave a part of it behind the deflated bytes


def container_records(message: bytes, bytes_as: BytesAs) -> Iterator[object]:
    """Yield the records of one file, in JSON's values.

    Raises:
        MalformedMessage: It is no container file, its schema or codec is not allowed, or a block
            is not what it claims to be.
    """
    source = Source(message)
    if message[: len(_MAGIC)] != _MAGIC:
        raise MalformedMessage(
            f"starts with {message[:4].hex() or 'nothing'}; a file with 4f626a01"
        )
    source.at = len(_MAGIC)
    metadata = _metadata(source)
    read, inflate = _reader(metadata, bytes_as), _inflate(metadata)
    sync = source.take(_SYNC_BYTES)
    bytes_left = INFLATED_BYTES_MAX
    while source.at < len(message):
        count, block = source.long(), source.take(source.long())
        if source.take(_SYNC_BYTES) != sync:
            raise source.malformed("a block ends without the file's sync marker")
        records = inflate(block, bytes_left)
        bytes_left -= len(records)
        if not 0 <= count <= len(records):
            raise source.malformed(f"a block claims {count} records in {len(records)} bytes")
        yield from read(records, start=0, count=count)


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


def _inflate(metadata: Mapping[bytes, bytes]) -> Callable[[bytes, int], bytes]:
    codec = metadata.get(b"avro.codec", b"null")
    if codec not in _CODECS:
        raise MalformedMessage(f"codec {codec!r:.80}; allowed: null, deflate")
    return _CODECS[codec]


def _stored(block: bytes, bytes_max: int) -> bytes:
    if len(block) > bytes_max:
        raise MalformedMessage(f"the blocks have over {INFLATED_BYTES_MAX} bytes together")
    return block


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


_CODECS: Mapping[bytes, Callable[[bytes, int], bytes]] = {b"null": _stored, b"deflate": _inflated}
