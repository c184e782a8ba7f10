"""What goes through the socket between worker and child: small packets of fixed size.

Bodies and records are in memory; a packet says where. The packets in flight are few and small,
so that neither side can block the other.
"""

import struct
from collections.abc import Sequence
from itertools import pairwise
from typing import Final, NamedTuple, Self

from fleetlane.parsers.sandbox.bytes_column import offsets_and_data

OWN_MEMORY: Final = -1
HELLO_BYTES_MAX: Final = 4096
READY: Final = b"\x00ready"
READY_FOR_BUFFERS: Final = b"\x00ready for buffers"
_WORD: Final = 8
_CHUNK_SIZES: Final = struct.Struct("<3q")
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
    bodies: list[bytes] | list[memoryview]


def chunk_buffers(
    assignment: bytes, envelopes: Sequence[bytes], bodies: Sequence[bytes]
) -> list[bytes | memoryview]:
    """A chunk's parts, in order: the sizes of three of them, and those three.

    They are the assignment, the envelopes, the bodies; the last two each behind their offsets.
    """
    envelope_ends, envelope_data = offsets_and_data(envelopes)
    body_ends, body_data = offsets_and_data(bodies)
    envelope_bytes = sum(len(part) for part in envelope_data)
    sizes = _CHUNK_SIZES.pack(len(envelopes), len(assignment), envelope_bytes)
    ends = [envelope_ends, filling(len(envelope_ends)), body_ends, filling(len(body_ends))]
    return [sizes, *ends, assignment, *envelope_data, *body_data]


def messages_of(
    chunk: memoryview, first: int, count: int, *, as_views: bool = False
) -> ChunkMessages:
    """Read some messages of a chunk.

    Bodies are copies, as a parser takes ``bytes``; or ``as_views`` of the chunk, which must last.
    """
    messages, assignment_bytes, envelope_bytes = _CHUNK_SIZES.unpack_from(chunk)
    ends_bytes = 4 * (messages + 1)
    at = _CHUNK_SIZES.size
    envelope_ends = chunk[at : at + ends_bytes].cast("i")[first : first + count + 1].tolist()
    envelopes_base = chunk[at : at + 4].cast("i")[0]
    at += filled(ends_bytes)
    body_ends = chunk[at : at + ends_bytes].cast("i")[first : first + count + 1].tolist()
    bodies_base = chunk[at : at + 4].cast("i")[0]
    at += filled(ends_bytes)
    assignment = bytes(chunk[at : at + assignment_bytes])
    at += assignment_bytes
    return ChunkMessages(
        assignment=assignment,
        envelopes=_strings(chunk, at - envelopes_base, envelope_ends),
        bodies=(_views if as_views else _strings)(
            chunk, at + envelope_bytes - bodies_base, body_ends
        ),
    )


def _views(data: memoryview, shift: int, ends: list[int]) -> list[memoryview]:
    return [data[shift + begin : shift + end] for begin, end in pairwise(ends)]


def _strings(data: memoryview, shift: int, ends: list[int]) -> list[bytes]:
    return [bytes(data[shift + begin : shift + end]) for begin, end in pairwise(ends)]


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
