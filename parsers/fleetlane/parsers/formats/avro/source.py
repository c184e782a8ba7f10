"""The bytes of one run of records, read from left to right, and the primitive types in them."""

import struct
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from fleetlane.parsers.contract import MalformedMessage
from fleetlane.parsers.json_domain import Bounds

_LONG_BITS = 64
_MORE = 0x80


class Source(Bounds):
    """A reader's position. The caps are checked before a declared count or length is believed."""

    __slots__ = ("at", "data")

    def __init__(self, data: bytes, *, at: int = 0) -> None:
        super().__init__()
        self.data, self.at = data, at

    def long(self) -> int:
        """Read a zig-zag variable-length integer of at most 64 bits."""
        data, at = self.data, self.at
        if at < len(data) and (byte := data[at]) < _MORE:  # most have one byte
            self.at = at + 1
            return byte >> 1 ^ -(byte & 1)
        number = shift = 0
        byte = _MORE
        while byte & _MORE:
            if at == len(data):
                raise self.cut_short()
            byte = data[at]
            at += 1
            number |= (byte & ~_MORE) << shift
            shift += 7
            if shift > _LONG_BITS and (number >> _LONG_BITS or byte & _MORE):
                raise self.malformed("an integer of more than 64 bits")
        self.at = at
        return number >> 1 ^ -(number & 1)

    def take(self, size: int) -> bytes:
        start, end = self.at, self.at + size
        if size < 0:
            raise self.malformed(f"a length of {size}")
        if end > len(self.data):
            raise self.cut_short()
        self.at = end
        return self.data[start:end]

    def block_counts(self) -> Iterator[int]:
        """Yield how many items each block of an array or map has; they are read in between."""
        while count := self.long():
            if count > 0:
                self.claim(count)
                yield count
                continue
            size, start = self.long(), self.at
            self.claim(-count)
            yield -count
            if self.at != start + size:
                raise self.malformed(f"a block says {size} bytes and has {self.at - start}")

    def cut_short(self) -> MalformedMessage:
        return self.malformed("ends in the middle of a value")

    def malformed(self, problem: str) -> MalformedMessage:
        return MalformedMessage(f"{problem}, at byte {self.at} of {len(self.data)}")


type Read = Callable[[Source], Any]

_FLOAT = struct.Struct("<f")
_DOUBLE = struct.Struct("<d")
_INT_MIN, _INT_MAX = -(2**31), 2**31 - 1


def read_string(source: Source) -> str:
    try:
        return source.take(source.long()).decode()
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        raise source.malformed(f"a string has byte 0x{byte:02x}, which is not UTF-8") from None


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


PRIMITIVES: Mapping[str, Read] = {
    "null": lambda _: None,
    "boolean": _boolean,
    "int": _int,
    "long": Source.long,
    "float": lambda source: source.finite(_FLOAT.unpack(source.take(4))[0]),
    "double": lambda source: source.finite(_DOUBLE.unpack(source.take(8))[0]),
    "string": read_string,
    "bytes": lambda source: source.take(source.long()),
}
"""By name. Bytes are not JSON's, and need converting."""
