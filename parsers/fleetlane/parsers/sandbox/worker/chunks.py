"""A run cut into chunks in memory that the child may only read, and what is left of each to do."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from fleetlane.parsers.sandbox.canonical_records import fitting
from fleetlane.parsers.sandbox.packets import OWN_MEMORY, Request, chunk_buffers
from fleetlane.parsers.sandbox.results import Attempt
from fleetlane.parsers.sandbox.runs import Run, TimeAllowance
from fleetlane.parsers.sandbox.shared_memory import WorkerMemory

SLOTS: Final = 3
SLOT_BYTES: Final = 2 << 20
CHUNK_MESSAGES: Final = 512
CHUNK_BODY_BYTES: Final = SLOT_BYTES - (128 << 10)
"""What envelopes and offsets usually take is left free."""


@dataclass(eq=False, slots=True, kw_only=True)
class Chunk:
    """Messages ``first`` to ``first + count`` of a run, in a slot or in ``memory`` of its own.

    ``undecided`` messages have no result yet. A chunk is suspect once a child died of it: its
    messages are then sent one by one, so that blame is certain, and none can use another's time.
    """

    first: int
    count: int
    mark: int
    slot: int
    size_bytes: int
    undecided: int
    memory: WorkerMemory | None = None
    is_suspect: bool = False


@dataclass(slots=True, kw_only=True)
class Piece:
    """Messages of a chunk, by their places in it, that the current child is to parse.

    ``allowed_s`` is what they may use of their flow's time budget, once they are sent.
    """

    chunk: Chunk
    first: int
    count: int
    allowed_s: float = 0.0

    def request(self, charged: tuple[int, int], allowance: TimeAllowance) -> Request:
        return Request(
            mark=self.chunk.mark,
            begin=OWN_MEMORY if self.chunk.memory else self.chunk.slot * SLOT_BYTES,
            chunk_bytes=self.chunk.size_bytes,
            first=self.first,
            messages=self.count,
            charged_us=charged[0],
            charged_bytes=charged[1],
            allowance=allowance,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """Messages to try once more, each with its result in case it cannot be tried.

    ``is_blamed``: a child seems to have died of it, which a parser may have faked.
    """

    chunk: Chunk
    failed: dict[int, Attempt]
    is_blamed: bool = False


class Slots:
    """Memory for the chunks in flight; a large chunk has its own, and takes a slot as well."""

    def __init__(self) -> None:
        self.memory = WorkerMemory(SLOTS * SLOT_BYTES, "slots")
        self._free = list(range(SLOTS))
        self._next_mark = 0

    @property
    def has_free(self) -> bool:
        return bool(self._free)

    def written(self, run: Run, first: int, count: int) -> Chunk:
        """Write messages of a run into a slot that is free."""
        last = first + count
        places = range(first, last) if run.encodings else ()
        buffers = chunk_buffers(
            run.assignment.encoded,
            run.envelopes[first:last],
            run.bodies[first:last],
            {place - first: run.encodings[place] for place in places if place in run.encodings},
        )
        size_bytes = sum(len(buffer) for buffer in buffers)
        memory = WorkerMemory(size_bytes, "large chunk") if size_bytes > SLOT_BYTES else None
        slot = self._free.pop()  # after what may raise
        area, at = (self.memory.view, slot * SLOT_BYTES) if memory is None else (memory.view, 0)
        for buffer in buffers:
            area[at : at + len(buffer)] = buffer
            at += len(buffer)
        mark, self._next_mark = self._next_mark, self._next_mark + count
        return Chunk(
            first=first,
            count=count,
            mark=mark,
            slot=slot,
            size_bytes=size_bytes,
            undecided=count,
            memory=memory,
        )

    def release(self, chunk: Chunk) -> None:
        self._free.append(chunk.slot)
        if chunk.memory is not None:
            chunk.memory.close()


def chunk_bounds(run: Run, places: range) -> Iterator[tuple[int, int]]:
    """Where each chunk begins, and how many messages it has: bounded in number and bytes."""
    first = places.start
    while first < places.stop:
        most = min(CHUNK_MESSAGES, places.stop - first)
        count = fitting(run.bodies, first, most, CHUNK_BODY_BYTES)
        yield first, count
        first += count
