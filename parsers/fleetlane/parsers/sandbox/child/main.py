"""The parser's process: takes chunks, parses them, and sends columns back."""

import json
import os
import resource
import socket
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache, partial
from mmap import mmap
from typing import Final

import msgspec

from fleetlane.parsers.contract import Parser, accepts_buffer
from fleetlane.parsers.registry import load_parser
from fleetlane.parsers.sandbox import packets
from fleetlane.parsers.sandbox.canonical_records import OUTPUT_BYTES_MAX, Columns
from fleetlane.parsers.sandbox.child.attempts import Attempts
from fleetlane.parsers.sandbox.jail.entering import FILE_BYTES_MAX, OPEN_FILES_MAX, Jail, enter
from fleetlane.parsers.sandbox.results import Part
from fleetlane.parsers.sandbox.runs import Assignment, Program
from fleetlane.parsers.sandbox.shared_memory import progress_of, read_only

LOAD_BYTES_MAX: Final = 4 << 30
"""Address space that loading a parser may take, and twice as much if it lifts its limit as far as
it can; its messages' limits come on top."""

_assignment_from: Final = lru_cache(256)(msgspec.json.Decoder(Assignment).decode)
"""Flows that share a parser alternate."""


class OwnProcess:
    """What this process has, and how much memory it may have.

    Keeps the files of ``/proc`` open: opening one costs ten times as much as reading it. A parser
    that closes them ends its child, as it would by closing the child's socket.
    """

    def __init__(self) -> None:
        folder = f"/proc/{os.getpid()}"
        self._threads = os.open(f"{folder}/task", os.O_RDONLY | os.O_DIRECTORY)
        self._children = os.open(f"{folder}/task/{os.getpid()}/children", os.O_RDONLY)
        self._memory = os.open(f"{folder}/statm", os.O_RDONLY)
        self._scheduling: int | None = None
        with suppress(FileNotFoundError):  # this kernel does not count
            self._scheduling = os.open(f"{folder}/schedstat", os.O_RDONLY)

    def threads_and_children(self) -> tuple[int, bytes]:
        """The number of threads here, and the first processes that the first of them started."""
        threads = len(os.listdir(self._threads))  # noqa: PTH208 - a descriptor, no path
        return threads, os.pread(self._children, 4096, 0)

    def address_space_bytes(self) -> int:
        return int(os.pread(self._memory, 64, 0).split()[0]) * resource.getpagesize()

    def waited_ns(self) -> int:
        """How long the first thread has waited for a CPU; 0 where the kernel does not count it."""
        return 0 if self._scheduling is None else int(os.pread(self._scheduling, 64, 0).split()[1])

    def limit_memory(self, bytes_max: int) -> None:
        """Allow so much more address space than now. Python meets it with ``MemoryError``."""
        self._bytes_max, self._began_with = bytes_max, self.address_space_bytes()
        self.allow_also(0)

    def allow_also(self, chunk_bytes: int) -> None:
        """Leave one large chunk out of account: twice, as it is mapped and copied as ``bytes``."""
        beside_bytes = 2 * (chunk_bytes + OUTPUT_BYTES_MAX)
        _limit_address_space(self._began_with + self._bytes_max + beside_bytes)

    def is_memory_half_used(self) -> bool:
        """Whether parsing has left so much allocated that the next message might fail by it."""
        return self.address_space_bytes() - self._began_with > self._bytes_max // 2


def serve(program: Program, connection: socket.socket, shared: tuple[int, int], jail: Jail) -> None:
    """Load the parser, report it, and answer requests until the worker closes the socket.

    ``shared`` are the descriptors of the input and of the progress. Limits this process for good:
    call it only in a child of its own.
    """
    input_memory, progress = shared
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_BYTES_MAX, FILE_BYTES_MAX))
    resource.setrlimit(resource.RLIMIT_NOFILE, (OPEN_FILES_MAX, OPEN_FILES_MAX))
    os.register_at_fork(after_in_child=partial(os._exit, os.EX_SOFTWARE))
    slots = read_only(input_memory, os.fstat(input_memory).st_size)
    marks = progress_of(progress)
    os.close(input_memory)
    os.close(progress)
    own = OwnProcess()
    began_with = own.address_space_bytes()
    _limit_address_space(began_with + LOAD_BYTES_MAX, began_with + 2 * LOAD_BYTES_MAX)
    enter(jail, program.location)
    try:
        parser = load_parser(program.use, json.loads(program.options), program.location)
    except Exception as problem:  # noqa: BLE001 - importing a parser runs code that is not ours
        text = f"{type(problem).__name__}: {problem}"
        connection.send(text.encode(errors="replace")[: packets.HELLO_BYTES_MAX])
        return
    own.limit_memory(program.memory_bytes_max)  # before the worker sets its own
    connection.send(packets.READY_FOR_BUFFERS if accepts_buffer(parser) else packets.READY)
    _Server(parser, connection, (slots, marks), own).serve()


class _Server:
    def __init__(
        self,
        parser: Parser,
        connection: socket.socket,
        shared: tuple[mmap, memoryview],
        own: OwnProcess,
    ) -> None:
        self._parser, self._connection = parser, connection
        self._takes_views = accepts_buffer(parser)
        self._slots, self._progress = shared
        self._own, self._charged = own, (0, 0)
        self._pid, self._threads_and_children = os.getpid(), own.threads_and_children()
        self._is_fit = True

    def serve(self) -> None:
        while self._is_fit:
            packet, descriptors, _, _ = socket.recv_fds(self._connection, packets.REQUEST_BYTES, 1)
            if not packet:
                return
            self._answer(packets.Request.unpacked(packet), descriptors)

    def _answer(self, request: packets.Request, descriptors: Sequence[int]) -> None:
        """Answer a request, in several parts if need be, as long as this child is fit for more."""
        if request.begin == packets.OWN_MEMORY:
            self._own.allow_also(request.chunk_bytes)
            memory, begin = read_only(descriptors[0], request.chunk_bytes), 0
            os.close(descriptors[0])
        else:
            memory, begin = self._slots, request.begin
        done = 0
        while self._is_fit and done < request.messages:
            left = request.messages - done
            messages = packets.messages_of(
                memory, begin, request.first + done, left, as_views=self._takes_views
            )
            done += self._part_sent(request, messages, done)

    def _part_sent(
        self, request: packets.Request, messages: packets.ChunkMessages, done: int
    ) -> int:
        assignment = _assignment_from(messages.assignment)
        given = request.allowance
        allowance = given._replace(
            budget_us=given.budget_us - self._charged[0] + request.charged_us,
            output_bytes=given.output_bytes - self._charged[1] + request.charged_bytes,
        )
        if messages.encodings:  # what comes plain is left out of account, too
            self._own.allow_also(request.chunk_bytes + assignment.growth.inflated_bytes_max)
        waited_ns = self._own.waited_ns
        attempts = Attempts(assignment, self._parser, allowance, self._progress, waited_ns)
        part = attempts.part(
            messages.pairs, request.messages - done, mark=request.mark + request.first + done
        )
        self._charged = self._charged[0] + part.charged_us, self._charged[1] + part.charged_bytes
        has_left_any = self._own.threads_and_children() != self._threads_and_children
        self._is_fit = not (
            part.is_out_of_memory or has_left_any or self._own.is_memory_half_used()
        )
        if os.getpid() != self._pid:  # a copy that the parser forked: it must not answer
            os._exit(os.EX_SOFTWARE)
        self._send(request, done, part, attempts.columns)
        return part.messages

    def _send(self, request: packets.Request, done: int, part: Part, columns: Columns) -> None:
        notes = part.details, part.inflated
        details = json.dumps(notes).encode() if any(notes) else b""
        reply = packets.Reply(
            mark=request.mark,
            first=request.first + done,
            messages=part.messages,
            events=len(columns.topic_indexes),
            key_bytes=len(columns.keys),
            value_bytes=len(columns.values),
            detail_bytes=len(details),
            charged_us=part.charged_us,
            charged_bytes=part.charged_bytes,
            is_retiring=not self._is_fit,
        )
        ends = memoryview(columns.key_ends), memoryview(columns.value_ends)
        records = columns.topic_indexes, columns.keys, columns.values
        for packet in packets.reply_packets(reply, (*part.notes, *ends, *records, details)):
            self._connection.sendmsg(packet)


def _limit_address_space(total_bytes: int, most_bytes: int = resource.RLIM_INFINITY) -> None:
    """Limit it within the hard limit: ``most_bytes``, and the worker's behind the loading."""
    _, hard_bytes = resource.getrlimit(resource.RLIMIT_AS)
    if hard_bytes == resource.RLIM_INFINITY:
        hard_bytes = most_bytes
    if hard_bytes != resource.RLIM_INFINITY:
        total_bytes = min(total_bytes, hard_bytes)
    resource.setrlimit(resource.RLIMIT_AS, (total_bytes, hard_bytes))
