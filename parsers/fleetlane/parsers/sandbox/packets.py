"""What goes through the socket between worker and child: small packets of fixed size.

Bodies and records are in memory; a packet says where. The packets in flight are few and small,
so that neither side can block the other.
"""

import struct
from array import array
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Final, NamedTuple, Self

OWN_MEMORY: Final = -1
HELLO_BYTES_MAX: Final = 4096
READY: Final = b"\x00ready"
_WORD: Final = 8
_SMALL_BODY_BYTES: Final = 16 << 10
_REQUEST: Final = struct.Struct("<6q")
_REPLY: Final = struct.Struct("<9q")
REQUEST_BYTES: Final = _REQUEST.size
REPLY_BYTES: Final = _REPLY.size


class Request(NamedTuple):
    """Parse messages ``first`` to ``first + messages`` of a chunk.

    The chunk is ``chunk_bytes`` long and begins at ``begin`` of the slots, or has memory of its
    own, whose descriptor comes along. No other message of the child has a number from ``mark``,
    which is that of the chunk's first, to ``mark`` plus the chunk's length.
    """

    mark: int
    begin: int
    chunk_bytes: int
    first: int
    messages: int
    overtime_us_max: int

    def packed(self) -> bytes:
        return _REQUEST.pack(*self)

    @classmethod
    def unpacked(cls, packet: bytes) -> Self:
        return cls(*_REQUEST.unpack(packet))


class Reply(NamedTuple):
    """What came of messages of a request, from ``first`` on; the columns' memory comes along.

    ``is_retiring``: this child is not fit for more, and does not read another request.
    """

    mark: int
    first: int
    messages: int
    events: int
    key_bytes: int
    value_bytes: int
    detail_bytes: int
    overtime_us: int
    is_retiring: int

    def packed(self) -> bytes:
        return _REPLY.pack(*self)

    @classmethod
    def unpacked(cls, packet: bytes) -> Self:
        return cls(*_REPLY.unpack(packet))


class ChunkMessages(NamedTuple):
    """A chunk, read back: its assignment as it was written, and its messages."""

    assignment: bytes
    envelopes: list[bytes]
    bodies: list[bytes]


def chunk_buffers(
    assignment: bytes, envelopes: Sequence[bytes], bodies: Sequence[bytes]
) -> list[bytes]:
    """A chunk's parts, in order: their number, where each ends, and the parts themselves."""
    ends = array("q", [len(envelopes)])
    ends.extend(accumulate(map(len, (assignment, *envelopes, *bodies))))
    head = b"".join((ends.tobytes(), assignment, *envelopes))
    if len(bodies) * _SMALL_BODY_BYTES > ends[-1]:
        return [head, b"".join(bodies)]
    return [head, *bodies]


def messages_of(chunk: memoryview, first: int, count: int) -> ChunkMessages:
    """Read some messages of a chunk; they are copies, as a parser takes ``bytes``."""
    messages = chunk[:_WORD].cast("q")[0]
    ends_bytes = _WORD * (2 * messages + 2)
    ends = [0, *chunk[_WORD:ends_bytes].cast("q").tolist()]
    data = chunk[ends_bytes:]
    head = bytes(data[: ends[messages + 1]])
    envelopes = pairwise(ends[1 + first : 2 + first + count])
    bodies = pairwise(ends[1 + messages + first : 2 + messages + first + count])
    return ChunkMessages(
        assignment=head[: ends[1]],
        envelopes=[head[begin:end] for begin, end in envelopes],
        bodies=[bytes(data[begin:end]) for begin, end in bodies],
    )


def reply_sizes(reply: Reply, note_fields: int) -> tuple[int, ...]:
    """How long each column of a reply's memory is, in their order, each filled up to a word."""
    ends_bytes = 4 * (reply.events + 1)
    return tuple(
        filled(size)
        for size in (
            _WORD * note_fields * reply.messages,
            ends_bytes,
            ends_bytes,
            reply.events,
            reply.key_bytes,
            reply.value_bytes,
            reply.detail_bytes,
        )
    )


def filled(size_bytes: int) -> int:
    """The size up to the next whole word: columns of numbers must begin at one."""
    return -(-size_bytes // _WORD) * _WORD


def filling(size_bytes: int) -> bytes:
    return bytes(filled(size_bytes) - size_bytes)
