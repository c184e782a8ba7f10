"""The bytes of one run of records, read from left to right, and what may still be taken."""

from collections.abc import Iterator

from fleetlane.parsers.contract import MalformedMessage
from fleetlane.parsers.json_domain import VALUES_MAX
from fleetlane.parsers.json_values import DEPTH_MAX

_LONG_BITS = 64
_MORE = 0x80


class Source:
    """Where a reader stands. The caps are checked before anything is made of a claim."""

    __slots__ = ("_depth", "_values_left", "at", "data")

    def __init__(self, data: bytes, *, at: int = 0) -> None:
        self.data = data
        self.at = at
        self._depth = 0
        self._values_left = VALUES_MAX

    def begin_datum(self) -> None:
        self._depth = 0
        self._values_left = VALUES_MAX

    def enter(self, values: int) -> None:
        """Go into a record, an array or a map; ``leave`` it at its end."""
        self._depth += 1
        if self._depth > DEPTH_MAX:
            raise self.malformed(f"nested deeper than {DEPTH_MAX} levels")
        self.claim(values)

    def leave(self) -> None:
        self._depth -= 1

    def claim(self, values: int) -> None:
        """Count values that are about to be read: some have no bytes of their own."""
        self._values_left -= values
        if self._values_left < 0:
            raise self.malformed(f"more than {VALUES_MAX} values in one record")

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
