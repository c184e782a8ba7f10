"""Many byte strings as Arrow has them: one buffer, and where each string in it ends."""

from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from typing import overload

_SMALL_BYTES_ON_AVERAGE = 16 << 10


class BytesColumn(Sequence[bytes]):
    """A sequence of byte strings that is copied as a whole, without an object of each.

    ``ends`` are 32-bit offsets into ``data``, one more than there are strings; the first says
    where the first string begins.
    """

    __slots__ = ("data", "ends")

    def __init__(self, ends: memoryview, data: memoryview) -> None:
        self.ends, self.data = ends, data

    def __len__(self) -> int:
        return len(self.ends) - 1

    @overload
    def __getitem__(self, place: int) -> bytes: ...

    @overload
    def __getitem__(self, place: slice) -> "BytesColumn": ...

    def __getitem__(self, place: "int | slice") -> "bytes | BytesColumn":
        if isinstance(place, slice):
            first, last, _ = place.indices(len(self))
            return BytesColumn(self.ends[first : max(first, last) + 1], self.data)
        number = range(len(self))[place]
        return bytes(self.data[self.ends[number] : self.ends[number + 1]])

    def __iter__(self) -> Iterator[bytes]:
        ends = self.ends.tolist()
        whole, base = bytes(self.data[ends[0] : ends[-1]]), ends[0]
        for begin, end in pairwise(ends):
            yield whole[begin - base : end - base]


def fitting(strings: Sequence[bytes], first: int, count_max: int, bytes_max: int) -> int:
    """How many strings from ``first`` on have at most so many bytes together; at least one."""
    if isinstance(strings, BytesColumn):
        ends = strings.ends
        last = min(first + count_max, len(strings))
        return max(1, bisect_right(ends, ends[first] + bytes_max, first, last + 1) - 1 - first)
    total = 0
    for count, string in enumerate(strings[first : first + count_max]):
        total += len(string)
        if total > bytes_max and count:
            return count
    return min(count_max, len(strings) - first)


def offsets_and_data(
    strings: Sequence[bytes],
) -> tuple[bytes | memoryview, Sequence[bytes | memoryview]]:
    """The offsets of strings, 32 bits each, and buffers that hold them one behind the other."""
    if isinstance(strings, BytesColumn):
        ends = strings.ends
        return ends.cast("B"), (strings.data[ends[0] : ends[-1]],)
    ends_of_list = array("i", accumulate(map(len, strings), initial=0))
    is_small = ends_of_list[-1] < len(strings) * _SMALL_BYTES_ON_AVERAGE
    return ends_of_list.tobytes(), (b"".join(strings),) if is_small else strings
