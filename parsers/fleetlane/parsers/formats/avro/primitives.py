"""The primitive types, read from a source."""

import math
import struct
from collections.abc import Callable, Mapping
from typing import Any

from fleetlane.parsers.formats.avro.source import Source

type Read = Callable[[Source], Any]

_FLOAT = struct.Struct("<f")
_DOUBLE = struct.Struct("<d")
_INT_MIN, _INT_MAX = -(2**31), 2**31 - 1


def read_bytes(source: Source) -> bytes:
    return source.take(source.long())


def read_string(source: Source) -> str:
    try:
        return source.take(source.long()).decode()
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        raise source.malformed(f"a string has byte 0x{byte:02x}, which is not UTF-8") from None


def _null(_: Source) -> object:
    return None


def _boolean(source: Source) -> object:
    byte = source.take(1)[0]
    if byte > 1:
        raise source.malformed(f"a boolean is 0x{byte:02x}; allowed: 0x00, 0x01")
    return byte == 1


def _int(source: Source) -> object:
    number = source.long()
    if not _INT_MIN <= number <= _INT_MAX:
        raise source.malformed(f"an int is {number}; allowed: {_INT_MIN} to {_INT_MAX}")
    return number


def _float(source: Source) -> object:
    return _finite(source, _FLOAT.unpack(source.take(4))[0])


def _double(source: Source) -> object:
    return _finite(source, _DOUBLE.unpack(source.take(8))[0])


def _finite(source: Source, number: float) -> float:
    if not math.isfinite(number):
        raise source.malformed(f"a number is {number}; numbers are finite")
    return number


PRIMITIVES: Mapping[str, Read] = {
    "null": _null,
    "boolean": _boolean,
    "int": _int,
    "long": Source.long,
    "float": _float,
    "double": _double,
    "string": read_string,
    "bytes": read_bytes,
}
"""By name. Bytes are not JSON's, and need converting."""
