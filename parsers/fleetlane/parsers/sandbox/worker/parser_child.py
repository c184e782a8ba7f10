"""A parser child as the worker sees it: it sends requests, watches, and ends it."""

import os
import select
import signal
import socket
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, NamedTuple

from fleetlane.parsers.sandbox import packets
from fleetlane.parsers.sandbox.canonical_records import OUTPUT_BYTES_MAX
from fleetlane.parsers.sandbox.results import InvalidReplyError, Verdict
from fleetlane.parsers.sandbox.runs import Program
from fleetlane.parsers.sandbox.shared_memory import ProgressMemory, WorkerMemory
from fleetlane.parsers.sandbox.stopwatch import Stopwatch
from fleetlane.parsers.sandbox.worker.excess import BEYOND_BYTES, bind_memory, excess_of
from fleetlane.parsers.sandbox.worker.zygote_client import (
    Ending,
    ParserNotLoadedError,
    Zygote,
    ZygoteGoneError,
)

TICK_S: Final = 0.05
LOAD_S_MAX: Final = 20.0
KILLED_S_MAX: Final = 10.0
"""How long a child that was killed may take to be gone."""
NEW_ZYGOTE_US: Final = 500_000
"""What another zygote costs: its flow has less time for it."""
REPLY_BYTES_MAX: Final = 4 * OUTPUT_BYTES_MAX
_CHARGED_MAX: Final = 1 << 62
_UNREAD_BYTES_MAX: Final = 4 << 20
"""Of replies, in the kernel, or as many as it allows: a child that is ahead by so much waits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildExit:
    """How a child ended. ``mark`` is of the message that it seems to have died of, or ``IDLE``.

    It worked on that for ``worked_us``; on all since its last reply, for ``watched_us``.
    """

    verdict: Verdict
    detail: str
    mark: int
    worked_us: int
    watched_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitLimits:
    """How long a child may work: on one message, and on all that it was asked first."""

    message_s: float
    request_s: float


class Worked(NamedTuple):
    """How long a child was seen to work on a reply: by a watch, and by its CPU time."""

    watched_us: int
    cpu_us: int


class ParserChild:
    """A child, and the worker's end of its socket. Not for use by several threads.

    ``charged`` is the sum of its replies: microseconds, and bytes.
    """

    def __init__(self, zygote: Zygote, program: Program, slots: WorkerMemory) -> None:
        """Fork it; raises as ``Zygote.spawned``."""
        self._zygote, self._memory_bytes_max = zygote, program.memory_bytes_max
        self._progress = ProgressMemory()
        self._progress.number[0] = packets.IDLE
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.settimeout(0)
        with theirs:
            theirs.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _UNREAD_BYTES_MAX)
            descriptors = theirs.fileno(), slots.descriptor, self._progress.descriptor
            try:
                self.pid = zygote.spawned(program, *descriptors)
            except ParserNotLoadedError:
                self._socket.close()
                self._progress.close()
                raise
        self._zygote_pid = zygote.pid
        # The socket alone would not do: a grandchild may hold it open.
        self._handle = os.pidfd_open(self.pid)
        self._poll = select.poll()
        self._poll.register(self._socket, select.POLLIN)
        self._poll.register(self._handle, select.POLLIN)
        self._stopwatch = Stopwatch(self.pid, tick_s=TICK_S)
        self._cpu_clock, self._used_s = ~self.pid << 3 | 2, 0.0  # as clock_getcpuclockid(3) has it
        self._seen, self._seen_from_s = packets.IDLE, 0.0
        self._folder, self._excess = zygote.folder_of(self.pid), ""
        self._killed_at: int | None = None
        self._give_up_s = 0.0
        self._is_watched = self.accepts_buffer = False
        self._watch_at_s = self._check_at_s = 0.0
        self._packet = memoryview(bytearray(packets.REPLY_PACKET_BYTES))
        self.charged = 0, 0

    @property
    def is_orphan(self) -> bool:
        """Whether its zygote was killed, and so was this child: for another child's doing."""
        return self._zygote_pid != self._zygote.pid

    @property
    def watched_s(self) -> float:
        """How long it was seen to work since it was asked last, without a first tick."""
        return self._stopwatch.worked_s if self._is_watched else 0.0

    def await_parser(self) -> None:
        """Wait until the parser is loaded; ``ParserNotLoadedError``: the child is of no use."""
        hello = bytearray(packets.HELLO_BYTES_MAX)
        self._begin_to_watch()
        limits = WaitLimits(message_s=LOAD_S_MAX, request_s=LOAD_S_MAX)
        size = self._received(memoryview(hello), limits)
        if size is None or self._zygote.is_stopped:
            problem = f"loading it ended its process: {self.end().detail}"
            raise ParserNotLoadedError(Verdict.CRASHED, problem)
        answer = bytes(hello[:size])
        self.accepts_buffer = answer == packets.READY_FOR_BUFFERS
        if answer not in (packets.READY, packets.READY_FOR_BUFFERS):
            self.end()
            raise ParserNotLoadedError(Verdict.PARSER_FAILED, answer.decode(errors="replace"))
        bind_memory(self.pid, self._memory_bytes_max)
        self._worked()  # loading is charged by itself

    def ask(self, request: packets.Request, memory: WorkerMemory | None) -> None:
        """Send a request, and the chunk's own ``memory``, if it has any."""
        descriptors = [] if memory is None else [memory.descriptor]
        self._zygote.checks.add(self._kill_if_excessive)
        # A child that has ended, or does not read: the next `reply` says so.
        with suppress(BrokenPipeError, ConnectionResetError, BlockingIOError):
            socket.send_fds(self._socket, [request.packed()], descriptors)

    def reply(self, limits: WaitLimits) -> tuple[packets.Reply, memoryview, Worked] | None:
        """The next reply, and its columns in memory that is the worker's alone.

        ``None`` once the child is dead and all complete replies are read.

        Raises ``InvalidReplyError`` where it is no reply as our code sends it.
        """
        self._begin_to_watch()
        if (size := self._received(self._packet, limits)) is None:
            return None
        reply = packets.Reply.unpacked(self._packet)
        if min(reply) < 0:
            raise InvalidReplyError("a negative size")
        whole_bytes = packets.REPLY_BYTES + sum(reply.column_sizes)
        if whole_bytes > REPLY_BYTES_MAX:
            problem = f"a reply of {whole_bytes} bytes; the limit is {REPLY_BYTES_MAX} bytes"
            raise InvalidReplyError(problem)
        whole, most = memoryview(bytearray(whole_bytes)), packets.REPLY_PACKET_BYTES
        _check_size(size, whole[:most])  # of too short a packet the rest is an earlier one's
        whole[:size] = self._packet[:size]
        used_us = self.charged[0] + reply.charged_us
        used_bytes = self.charged[1] + reply.charged_bytes
        self.charged = min(used_us, _CHARGED_MAX), min(used_bytes, _CHARGED_MAX)
        for at in range(most, whole_bytes, most):
            if (size := self._received(whole[at : at + most], limits)) is None:
                return None
            _check_size(size, whole[at : at + most])
        if self._zygote.is_stopped:
            raise InvalidReplyError("a stop signal to its zygote")
        if time.monotonic() >= self._check_at_s:  # of a short reply it would be most of the cost
            self._kill_if_excessive()
        return reply, whole[packets.REPLY_BYTES :], self._worked()

    def _worked(self) -> Worked:
        """Since its last reply; nothing is watched within a first tick."""
        before_s = self._used_s
        with suppress(OSError):  # it is gone
            self._used_s = time.clock_gettime(self._cpu_clock)
        return Worked(int(self.watched_s * 1e6), int((self._used_s - before_s) * 1e6))

    def end(self) -> ChildExit:
        """End the child, with all that it started, and give how it ended."""
        self.send(signal.SIGKILL)  # it may have refused to die with an earlier zygote
        self._zygote.checks.discard(self._kill_if_excessive)
        ending: Ending | None = None
        with suppress(ZygoteGoneError):
            ending = self._zygote.ended(self.pid)
        mark = self._progress.number[0]
        self._socket.close()
        os.close(self._handle)
        self._progress.close()
        watched_us = int(self.watched_s * 1e6)
        worked_us = watched_us - int(self._seen_from_s * 1e6)
        if self._killed_at is not None:
            verdict, detail = Verdict.TIMEOUT, f"killed after {worked_us // 1000} ms"
            mark = mark if mark == self._killed_at else packets.IDLE
        elif self._excess:
            verdict, detail = Verdict.CRASHED, self._excess
        elif ending is None:
            verdict, detail = Verdict.CRASHED, "its process ended together with the zygote"
            worked_us += NEW_ZYGOTE_US
        else:
            verdict, detail = ending.cause(self._memory_bytes_max)
        return ChildExit(
            verdict=verdict, detail=detail, mark=mark, worked_us=worked_us, watched_us=watched_us
        )

    def stop(self) -> None:
        """Stop it until it is sent ``SIGCONT``."""
        self.send(signal.SIGSTOP)
        self._zygote.checks.discard(self._kill_if_excessive)

    def send(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):  # it is gone
            signal.pidfd_send_signal(self._handle, number)

    def _received(self, packet: memoryview, limits: WaitLimits) -> int | None:
        """Read a packet, and give its whole length; ``None`` where the child is dead."""
        while not self._poll.poll(TICK_S * 1000):
            self._watch(limits)
            if self._killed_at is not None and self._stopwatch.read() >= self._give_up_s:
                return None
        if time.monotonic() >= self._watch_at_s:  # one that sends a little all the time, too
            self._watch(limits)
        try:
            return self._socket.recv_into(packet, flags=socket.MSG_TRUNC) or None
        except (BlockingIOError, ConnectionResetError):
            return None

    def _begin_to_watch(self) -> None:
        self._is_watched, self._seen_from_s = False, 0.0
        self._watch_at_s = time.monotonic() + TICK_S

    def _watch(self, limits: WaitLimits) -> None:
        self._watch_at_s = time.monotonic() + TICK_S
        if not self._is_watched:
            self._stopwatch.restart()
            self._seen, self._is_watched = self._progress.number[0], True
        elif self._killed_at is None and self._is_over(limits):
            self._killed_at = self._seen
            self._give_up_s = self._stopwatch.worked_s + KILLED_S_MAX
            self.send(signal.SIGKILL)
            return
        for check in (self._kill_if_excessive, *self._zygote.checks):
            check()

    def _kill_if_excessive(self) -> None:
        self._check_at_s = time.monotonic() + TICK_S
        most = self._memory_bytes_max + BEYOND_BYTES
        excess = excess_of(self.pid, self._folder, resident_bytes_max=most)
        if excess and not self._excess:
            self._excess = excess
            self.send(signal.SIGKILL)

    def _is_over(self, limits: WaitLimits) -> bool:
        """Check the child. Faking progress gains a parser no more than ``request_s``."""
        worked_s, now_at = self._stopwatch.read(), self._progress.number[0]
        if now_at != self._seen:
            self._seen, self._seen_from_s = now_at, worked_s
        return worked_s - self._seen_from_s >= limits.message_s or worked_s >= limits.request_s


def _check_size(size: int, due: memoryview) -> None:
    if size != len(due):
        raise InvalidReplyError(f"{size} bytes where {len(due)} are due")
