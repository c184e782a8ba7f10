"""The packets on the socket between worker and child; the kernel keeps their bounds.

A request is small: the bodies are in memory, and it says where. A reply says how long its columns
are, which follow it, all of it cut into packets. Requests in flight are few and small, so the
worker never waits to send one; a child waits to send until the worker reads.
"""

import json
import struct
from collections.abc import Iterator, Mapping, Sequence
from mmap import mmap
from typing import Final, NamedTuple, Self

from fleetlane.parsers.sandbox.canonical_records import offsets_and_data
from fleetlane.parsers.sandbox.results import NOTE_CODES
from fleetlane.parsers.sandbox.runs import Body, EncodedBody, TimeAllowance, with_encodings

OWN_MEMORY: Final = -1
IDLE: Final = -1
"""The progress of a child that has no message in work."""
HELLO_BYTES_MAX: Final = 4096
READY: Final = b"\x00ready"
READY_FOR_BUFFERS: Final = b"\x00ready for buffers"
REPLY_PACKET_BYTES: Final = 64 << 10
"""With more at once the kernel would need much contiguous memory."""

_WORD: Final = 8
_CHUNK_SIZES: Final = struct.Struct("<4q")
_REQUEST: Final = struct.Struct("<11q")
_REPLY: Final = struct.Struct("<10q")
_NOTE_BYTES: Final = tuple(map(struct.calcsize, NOTE_CODES))
REQUEST_BYTES: Final = _REQUEST.size
REPLY_BYTES: Final = _REPLY.size


class Request(NamedTuple):
    """Parse messages ``first`` to ``first + messages`` of a chunk.

    The chunk is ``chunk_bytes`` long and begins at ``begin`` of the slots, or has memory of its
    own, whose descriptor comes along. No other message of the child has a number from ``mark``,
    which is that of the chunk's first, to ``mark`` plus the chunk's length.

    ``charged_us`` and ``charged_bytes`` are all that the child has charged in replies that the
    worker has read: what it charges beyond that, for earlier requests, leaves less to this one.
    """

    mark: int
    begin: int
    chunk_bytes: int
    first: int
    messages: int
    charged_us: int
    charged_bytes: int
    allowance: TimeAllowance

    def packed(self) -> bytes:
        *numbers, allowance = self
        return _REQUEST.pack(*numbers, *allowance)

    @classmethod
    def unpacked(cls, packet: bytes) -> Self:
        numbers = _REQUEST.unpack(packet)
        return cls._make((*numbers[:-4], TimeAllowance._make(numbers[-4:])))


class Reply(NamedTuple):
    """What came of messages of a request, from ``first`` on; the columns follow.

    ``is_retiring``: this child is not fit for more, and does not read another request.
    """

    mark: int
    first: int
    messages: int
    events: int
    key_bytes: int
    value_bytes: int
    detail_bytes: int
    charged_us: int
    charged_bytes: int
    is_retiring: int

    def packed(self) -> bytes:
        return _REPLY.pack(*self)

    @classmethod
    def unpacked(cls, packet: memoryview) -> Self:
        return cls(*_REPLY.unpack_from(packet))

    @property
    def column_sizes(self) -> tuple[int, ...]:
        """How long each column is, notes before records, filled up to a word."""
        notes = (self.messages * size_bytes for size_bytes in _NOTE_BYTES)
        ends_bytes = 4 * (self.events + 1)
        records = ends_bytes, ends_bytes, self.events, self.key_bytes, self.value_bytes
        return tuple(map(filled, (*notes, *records, self.detail_bytes)))


class ChunkMessages(NamedTuple):
    """Messages of a chunk, and the assignment as it was written.

    ``encodings`` are those of compressed bodies, by place. ``pairs`` has each message's envelope
    and body, copied when it is reached: so it is in the CPU's cache.
    """

    assignment: bytes
    encodings: Mapping[int, str]
    pairs: Iterator[tuple[bytes, Body | EncodedBody]]


def chunk_buffers(
    assignment: bytes,
    envelopes: Sequence[bytes],
    bodies: Sequence[bytes],
    encodings: Mapping[int, str],
) -> list[bytes | memoryview]:
    """A chunk's parts, in order: the sizes of four of them, the offsets of two, and those four.

    They are the assignment, the encodings (if there are any), the envelopes, the bodies.
    """
    encoded = json.dumps(encodings).encode() if encodings else b""
    envelope_ends, envelope_data = offsets_and_data(envelopes)
    body_ends, body_data = offsets_and_data(bodies)
    envelope_bytes = sum(len(part) for part in envelope_data)
    sizes = _CHUNK_SIZES.pack(len(envelopes), len(assignment), len(encoded), envelope_bytes)
    ends = [envelope_ends, filling(len(envelope_ends)), body_ends, filling(len(body_ends))]
    return [sizes, *ends, assignment, encoded, *envelope_data, *body_data]


def messages_of(
    memory: mmap | bytes, begin: int, first: int, count: int, *, as_views: bool = False
) -> ChunkMessages:
    """Find some messages of the chunk that begins at ``begin`` of a memory.

    A body is a copy, as a parser takes ``bytes``; or ``as_views`` of memory that must last.
    """
    sizes = _CHUNK_SIZES.unpack_from(memory, begin)
    messages, assignment_bytes, encodings_bytes, envelope_bytes = sizes
    ends_bytes = 4 * (messages + 1)
    envelope_ends_at = begin + _CHUNK_SIZES.size
    body_ends_at = envelope_ends_at + filled(ends_bytes)
    assignment_at = body_ends_at + filled(ends_bytes)
    encodings_at = assignment_at + assignment_bytes
    envelopes_at = encodings_at + encodings_bytes
    found = json.loads(memory[encodings_at:envelopes_at]) if encodings_bytes else {}
    encodings = {int(place) - first: name for place, name in found.items()}
    envelopes = _slices(memory, envelope_ends_at, first, count, envelopes_at)
    slices = _slices(memory, body_ends_at, first, count, envelopes_at + envelope_bytes)
    source = memoryview(memory) if as_views else memory
    bodies: Iterator[Body] = map(source.__getitem__, slices)
    marked = with_encodings(bodies, encodings)
    pairs = zip(map(memory.__getitem__, envelopes), marked, strict=True)
    return ChunkMessages(memory[assignment_at:encodings_at], encodings, pairs)


def _slices(
    memory: mmap | bytes, ends_at: int, first: int, count: int, data_at: int
) -> Iterator[slice]:
    (base,) = struct.unpack_from("<i", memory, ends_at)
    ends = struct.unpack_from(f"<{count + 1}i", memory, ends_at + 4 * first)
    bounds = [data_at - base + end for end in ends]
    return map(slice, bounds, bounds[1:])


def reply_packets(
    reply: Reply, columns: Sequence[bytes | bytearray | memoryview]
) -> Iterator[list[memoryview]]:
    """A reply and its columns, each filled up to a word; a packet is in several pieces."""
    packet, room = list[memoryview](), REPLY_PACKET_BYTES
    for column in (reply.packed(), *columns):
        view = memoryview(column).cast("B")
        for rest in (view, memoryview(filling(len(view)))):
            while len(rest):
                packet.append(rest[:room])
                rest, room = rest[room:], room - len(packet[-1])  # noqa: PLW2901 - what is left
                if not room:
                    yield packet
                    packet, room = [], REPLY_PACKET_BYTES
    if packet:
        yield packet


def filled(size_bytes: int) -> int:
    """The size up to the next whole word: columns of numbers must begin at one."""
    return -(-size_bytes // _WORD) * _WORD


def filling(size_bytes: int) -> bytes:
    return bytes(filled(size_bytes) - size_bytes)
