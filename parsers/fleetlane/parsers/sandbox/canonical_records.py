"""Canonical records as columns: collected message by message, and as they are handed on."""

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice
from typing import Final, NamedTuple, Self

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

    @classmethod
    def none(cls, topics: tuple[str, ...]) -> Self:
        none, zero = memoryview(b""), memoryview(bytes(4)).cast("i")
        return cls(
            topics=topics,
            topic_indexes=none,
            key_ends=zero,
            keys=none,
            value_ends=zero,
            values=none,
        )

    def __len__(self) -> int:
        return len(self.topic_indexes)

    def __iter__(self) -> Iterator[CanonicalRecord]:
        key_ends, value_ends = self.key_ends.tolist(), self.value_ends.tolist()
        for number, topic in enumerate(self.topic_indexes):
            yield CanonicalRecord(
                topic=self.topics[topic],
                key=bytes(self.keys[key_ends[number] : key_ends[number + 1]]),
                value=bytes(self.values[value_ends[number] : value_ends[number + 1]]),
            )


class Columns:
    """Collects canonical records. Those of a message that fails are taken back whole."""

    __slots__ = ("key_ends", "keys", "topic_indexes", "value_ends", "values")

    def __init__(self) -> None:
        self.topic_indexes, self.keys, self.values = bytearray(), bytearray(), bytearray()
        self.key_ends, self.value_ends = array("i", [0]), array("i", [0])

    def append_message(
        self, topic_indexes: bytes | bytearray, keys: Sequence[bytes], values: Sequence[bytes]
    ) -> None:
        """Append all records of a message."""
        self.topic_indexes += topic_indexes
        for columns, ends, strings in (
            (self.keys, self.key_ends, keys),
            (self.values, self.value_ends, values),
        ):
            first = len(columns)
            for string in strings:  # joined first, large ones would take their memory twice
                columns += string  # noqa: PLW2901 - grows where it is
            ends.extend(islice(accumulate(map(len, strings), initial=first), 1, None))

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
