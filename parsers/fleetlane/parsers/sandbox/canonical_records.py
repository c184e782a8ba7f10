"""Byte strings as columns that Arrow wraps; canonical records, collected and handed on so."""

from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Final, NamedTuple, overload

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
    ends_of_list = accumulate(map(len, strings[first : first + count_max]))
    return max(1, bisect_right(list(ends_of_list), bytes_max))


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


OUTPUT_BYTES_MAX: Final = 64 << 20
"""All events of one message together."""


class CanonicalRecord(NamedTuple):
    """One canonical event, ready for Kafka."""

    topic: str
    key: bytes
    value: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class CanonicalRecords:
    """Canonical records of a run of messages, in order, as columns that Arrow wraps uncopied.

    ``key_ends`` and ``value_ends`` are 32-bit offsets, one more than there are records, the first
    of them 0; ``topic_indexes`` one byte a record: its place in ``topics``.
    """

    topics: tuple[str, ...]
    topic_indexes: memoryview
    key_ends: memoryview
    keys: memoryview
    value_ends: memoryview
    values: memoryview

    def __len__(self) -> int:
        return len(self.topic_indexes)

    def __iter__(self) -> Iterator[CanonicalRecord]:
        keys = BytesColumn(self.key_ends, self.keys)
        values = BytesColumn(self.value_ends, self.values)
        for topic, key, value in zip(self.topic_indexes, keys, values, strict=True):
            yield CanonicalRecord(topic=self.topics[topic], key=key, value=value)


class Columns:
    """Collects canonical records. Those of a message that fails are taken back whole."""

    __slots__ = ("key_ends", "keys", "topic_indexes", "value_ends", "values")

    def __init__(self) -> None:
        self.topic_indexes, self.keys, self.values = bytearray(), bytearray(), bytearray()
        self.key_ends, self.value_ends = array("i", [0]), array("i", [0])

    def append_message(
        self, topic_indexes: bytes | bytearray, keys: Sequence[bytes], values: Sequence[bytes]
    ) -> None:
        self.topic_indexes += topic_indexes
        for columns, ends, strings in (
            (self.keys, self.key_ends, keys),
            (self.values, self.value_ends, values),
        ):
            for string in strings:  # joined first, large ones would take their memory twice
                columns += string  # noqa: PLW2901 - grows where it is
                ends.append(len(columns))

    def taken(self, topics: tuple[str, ...]) -> CanonicalRecords:
        """Give what is collected; these columns can then grow no more."""
        return CanonicalRecords(
            topics=topics,
            topic_indexes=memoryview(self.topic_indexes),
            key_ends=memoryview(self.key_ends),
            keys=memoryview(self.keys),
            value_ends=memoryview(self.value_ends),
            values=memoryview(self.values),
        )

    def take_back_to(self, records: int) -> None:
        """Drop all behind so many records; right wherever ``append_message`` was interrupted."""
        del self.keys[self.key_ends[records] :], self.values[self.value_ends[records] :]
        del self.key_ends[records + 1 :], self.value_ends[records + 1 :]
        del self.topic_indexes[records:]
