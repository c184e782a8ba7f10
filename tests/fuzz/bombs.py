"""Small messages that come to a lot."""

import io
import zlib

import fastavro

MIB = 1 << 20
GZIP_HEAD = bytes.fromhex("1f8b08000000000000ff")
ZSTD_HEAD = bytes.fromhex("28b52ffd0068")  # a window of 8 MiB, no size told
ZSTD_BLOCK_BYTES = 128 << 10
SYNC = bytes(16)


def deflated_zeros(mib: int) -> bytes:
    """Raw deflate of so many MiB of zeros: one MiB's blocks, again and again."""
    deflate = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    one = deflate.compress(bytes(MIB)) + deflate.flush(zlib.Z_FULL_FLUSH)
    return one * mib + deflate.flush()


def gzip_bomb(bytes_max: int = MIB) -> bytes:
    """A body of about ``bytes_max`` that comes to about a GiB."""
    blocks = deflated_zeros(bytes_max // len(deflated_zeros(1)))
    return GZIP_HEAD + blocks + bytes(8)


def deflate_bomb() -> bytes:
    return bytes.fromhex("789c") + deflated_zeros(900) + bytes(4)


def zstd_bomb() -> bytes:
    """A body of 1 MiB that comes to 32 GiB: blocks of one byte, repeated."""
    block = (ZSTD_BLOCK_BYTES << 3 | 1 << 1).to_bytes(3, "little") + b"\0"
    return ZSTD_HEAD + block * (MIB // len(block))


def avro_bomb() -> bytes:
    """A container file whose one block inflates to 300 MiB."""
    return _avro_file(deflated_zeros(300), count=300 * MIB)


def avro_crowd() -> bytes:
    """A container file of records that take no bytes at all."""
    return _avro_file(zlib.compress(b"", wbits=-zlib.MAX_WBITS), count=1 << 62)


def _avro_file(block: bytes, *, count: int) -> bytes:
    schema = {"type": "record", "name": "R", "fields": [{"name": "f", "type": "null"}]}
    head = io.BytesIO()
    fastavro.writer(head, fastavro.parse_schema(schema), [], codec="deflate", sync_marker=SYNC)
    return head.getvalue() + _long(count) + _long(len(block)) + block + SYNC


def _long(number: int) -> bytes:
    """Avro's variable-length integer."""
    rest, octets = number << 1, bytearray()
    while rest > 0x7F:
        octets.append(rest & 0x7F | 0x80)
        rest >>= 7
    return bytes([*octets, rest])
