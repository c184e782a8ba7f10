"""A parser that misbehaves as its message says: in every way that a parser ever did."""

import ctypes
import json
import mmap
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from fleetlane.parsers.contract import MalformedMessage
from fleetlane.parsers.sandbox.results import NO_SPAN_MS, Verdict

type Order = dict[str, Any]
type Event = Mapping[str, object]

_AT_NEXT_MESSAGE: list[threading.Event] = []


@dataclass(frozen=True, slots=True, kw_only=True)
class Hostile:
    """A message is JSON: ``kind``, and what comes out if all goes well: ``id`` and ``events``."""

    greeting: str = "hello"

    def parse(self, message: bytes) -> Iterator[Event]:
        for begins in _AT_NEXT_MESSAGE:
            begins.set()
        order = json.loads(message.rstrip(b"#"))
        if order["kind"] in EVENTS:
            yield from EVENTS[order["kind"]](order)
            return
        if order["kind"] in ACTS:
            yield {"id": order["id"], "event": 0}
            ACTS[order["kind"]](order)
            yield {"id": order["id"], "event": 1}
            return
        for event in range(order["events"]):
            yield {"id": order["id"], "event": event}


def _malformed(_: Order) -> NoReturn:
    raise MalformedMessage("these bytes are bad; others are good")


def _fails(_: Order) -> NoReturn:
    raise ValueError("x" * 5000)


def _fails_with_base_exception(_: Order) -> NoReturn:
    class Rare(BaseException):
        pass

    raise Rare


class _Unspeakable(Exception):  # noqa: N818 - as hostile as its text
    def __str__(self) -> str:
        raise RuntimeError("no")


def _fails_unspeakably(_: Order) -> NoReturn:
    raise _Unspeakable


def _is_first_time(order: Order) -> bool:
    marker = Path(order["marker"])
    is_first = not marker.exists()
    marker.touch()
    return is_first


def _fails_once(order: Order) -> None:
    if _is_first_time(order):
        raise ValueError("once")


def _exits_once(order: Order) -> None:
    if _is_first_time(order):
        os._exit(3)


def _recurses(order: Order) -> None:
    _recurses(order)


def _loops(_: Order) -> None:
    while True:
        pass


def _swallows(_: Order) -> None:
    while True:
        try:
            while True:
                pass
        except BaseException:  # noqa: BLE001, S110 - field note 20
            pass


def _sleeps(_: Order) -> None:
    time.sleep(100)


def _loops_in_c(_: Order) -> None:
    sum(range(10**12))


def _matches_for_ever(_: Order) -> None:
    re.match(r"(a+)+$", "a" * 64 + "b")


def _sleeps_in_finally(_: Order) -> None:
    try:
        _loops(_)
    finally:
        time.sleep(100)


def _stops_itself(_: Order) -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


def _switches_timer_off(_: Order) -> None:
    signal.setitimer(signal.ITIMER_REAL, 0)
    _loops(_)


def _exits(_: Order) -> None:
    os._exit(3)


def _segfaults(_: Order) -> None:
    ctypes.string_at(0)


def _kills_its_zygote(_: Order) -> None:
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(100)


def _closes_descriptors(_: Order) -> None:
    os.closerange(0, 256)


def _hogs_at_once(_: Order) -> None:
    hog = bytearray(4 << 30)
    hog[:: mmap.PAGESIZE] = b"1" * len(hog[:: mmap.PAGESIZE])


def _hogs_bit_by_bit(_: Order) -> None:
    hog = []
    while True:
        hog.append(bytes(1 << 20))


_kept: list[bytes] = []


def _leaks(_: Order) -> None:
    _kept.append(b"1" * (40 << 20))


def _prints(_: Order) -> None:
    sys.stdout.write("not for Spark\n" * 100)
    sys.stdout.flush()


def _leaves_thread(_: Order) -> None:
    threading.Thread(target=_loops, args=({},), daemon=True).start()


def _leaves_time_bomb(_: Order) -> None:
    """End the process once the next message has begun."""
    begins = threading.Event()
    _AT_NEXT_MESSAGE.append(begins)

    def explode() -> None:
        begins.wait()
        os._exit(9)

    threading.Thread(target=explode, daemon=True).start()


def _leaves_process(_: Order) -> None:
    subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(1000)"], start_new_session=True
    )


def _leaves_process_and_exits(order: Order) -> None:
    _leaves_process(order)
    os._exit(9)


def _leaves_process_and_hangs(order: Order) -> None:
    _leaves_process(order)
    time.sleep(1000)


def _works_a_while(order: Order) -> None:
    """Use the CPU for a time, as a parser of a large message does."""
    until_s = time.thread_time() + order.get("work_s", 0.6)
    while time.thread_time() < until_s:
        pass


def _forks_in_c(_: Order) -> None:
    if ctypes.CDLL(None).fork() == 0:
        os.setsid()


def _bombs_in_c(_: Order) -> None:
    fork = ctypes.CDLL(None).fork
    for _generation in range(7):
        fork()
    time.sleep(100)


def _bombs(_: Order) -> None:
    while True:
        os.fork()


def _shared_maps() -> list[tuple[int, int, str]]:
    """Begin, size and permissions of all memory that this process shares."""
    maps = []
    for line in Path("/proc/self/maps").read_text().splitlines():
        if "memfd:" in line:
            bounds, permissions = line.split()[:2]
            begin, end = (int(bound, 16) for bound in bounds.split("-"))
            maps.append((begin, end - begin, permissions))
    return maps


def _scribbles(_: Order) -> None:
    """Write over all shared memory that can be written, and try hard at the rest."""
    libc = ctypes.CDLL(None)
    for begin, size, permissions in _shared_maps():
        may = "w" in permissions
        may = may or libc.mprotect(ctypes.c_void_p(begin), ctypes.c_size_t(size), 3) == 0
        if may:
            ctypes.memset(begin, 0x41, size)
    for path in Path("/proc/self/fd").iterdir():
        try:
            if "memfd" in str(path.readlink()):
                with path.open("r+b") as memory:
                    memory.write(b"A" * 4096)
        except OSError:
            continue


def _progress() -> memoryview:
    begin, *_ = next(one for one in _shared_maps() if "w" in one[2])
    return memoryview((ctypes.c_int64 * 1).from_address(begin)).cast("B").cast("q")


def _forges_progress(_: Order) -> None:
    """Blame the message behind this one, and hang where only a kill helps."""
    progress = _progress()
    progress[0] += 1
    sum(range(10**12))


def _forges_progress_for_ever(_: Order) -> None:
    progress = _progress()
    signal.setitimer(signal.ITIMER_REAL, 0)
    while True:
        progress[0] += 1
        time.sleep(0.01)


def _blames_and_exits(_: Order) -> None:
    progress = _progress()
    progress[0] += 1
    os._exit(1)


def _doorbell() -> socket.socket:
    """What the child answers through, which no parser should know of."""
    for entry in Path("/proc/self/fd").iterdir():
        if entry.is_socket():
            return socket.socket(fileno=int(entry.name))
    raise LookupError("this child has no socket")


def _sends(packet: bytes) -> Callable[[Order], None]:
    def send(_: Order) -> None:
        doorbell = _doorbell()
        doorbell.send(packet)
        doorbell.detach()

    return send


def _told(**sizes: int) -> bytes:
    """A reply's first packet that tells of columns as large as this."""
    columns = ("events", "keys", "values", "details")
    names = ("mark", "first", "messages", *columns, "charged_us", "charged_bytes", "is_retiring")
    return struct.pack("<10q", *(sizes.get(name, 0) for name in names))


def _says(verdict: Verdict) -> Callable[[Order], None]:
    """Have our own code in this process note so of each message of this part, and of later ones."""

    def act(_: Order) -> None:
        attempts = sys.modules["fleetlane.parsers.sandbox.child.attempts"]
        noted, row = attempts.notes_of, (verdict, 0, 0, *NO_SPAN_MS)
        vars(attempts)["notes_of"] = lambda rows: noted([*row] * (len(rows) // len(row)))
        raise ValueError("so it has no events")

    return act


def _forges_a_deep_record(_: Order) -> None:
    """Have this process write events for a while that no canonical form can be made of."""
    encoding = sys.modules["fleetlane.parsers.sandbox.child.encoding"]
    deep = b'{"a":' * 300 + b"0" + b"}" * 300
    vars(encoding)["canonical_tail"] = lambda *_: b'"timequality":"ok","data":' + deep + b"}"


def _flood(order: Order) -> Iterator[Event]:
    while True:
        yield {"id": order["id"]}


def _flood_that_never_closes(order: Order) -> Iterator[Event]:
    try:
        yield from _flood(order)
    finally:
        time.sleep(100)


def _flood_that_ignores_its_end(order: Order) -> Iterator[Event]:
    while True:
        try:
            yield {"id": order["id"]}
        except GeneratorExit:
            yield {"id": order["id"]}


def _large_event(order: Order) -> Iterator[Event]:
    yield {"id": order["id"], "text": "y" * 1_000_000}


def _large_output(order: Order) -> Iterator[Event]:
    text = "y" * 800_000
    while True:
        yield {"id": order["id"], "text": text}


def _no_mapping(order: Order) -> Iterator[Event]:
    yield [order["id"]]  # type: ignore[misc] # what this is for


EVENTS: dict[str, Callable[[Order], Iterator[Event]]] = {
    "flood": _flood,
    "flood-that-never-closes": _flood_that_never_closes,
    "flood-that-ignores-its-end": _flood_that_ignores_its_end,
    "large-event": _large_event,
    "large-output": _large_output,
    "no-mapping": _no_mapping,
}

ACTS: dict[str, Callable[[Order], None]] = {
    "malformed": _malformed,
    "fails": _fails,
    "fails-with-base-exception": _fails_with_base_exception,
    "fails-unspeakably": _fails_unspeakably,
    "fails-once": _fails_once,
    "exits-once": _exits_once,
    "recurses": _recurses,
    "raises-system-exit": lambda _: sys.exit(2),
    "loops": _loops,
    "swallows": _swallows,
    "sleeps": _sleeps,
    "sleeps-in-finally": _sleeps_in_finally,
    "loops-in-c": _loops_in_c,
    "matches-for-ever": _matches_for_ever,
    "stops-itself": _stops_itself,
    "switches-timer-off": _switches_timer_off,
    "exits": _exits,
    "segfaults": _segfaults,
    "aborts": lambda _: os.abort(),
    "kills-its-zygote": _kills_its_zygote,
    "closes-descriptors": _closes_descriptors,
    "hogs-at-once": _hogs_at_once,
    "hogs-bit-by-bit": _hogs_bit_by_bit,
    "leaks": _leaks,
    "prints": _prints,
    "leaves-thread": _leaves_thread,
    "leaves-time-bomb": _leaves_time_bomb,
    "leaves-process": _leaves_process,
    "leaves-process-and-exits": _leaves_process_and_exits,
    "leaves-process-and-hangs": _leaves_process_and_hangs,
    "works-a-while": _works_a_while,
    "forks-in-c": _forks_in_c,
    "bombs-in-c": _bombs_in_c,
    "bombs": _bombs,
    "scribbles": _scribbles,
    "forges-progress": _forges_progress,
    "forges-progress-for-ever": _forges_progress_for_ever,
    "blames-and-exits": _blames_and_exits,
    "forges-a-deep-record": _forges_a_deep_record,
    "says-that-it-was-not-tried": _says(Verdict.NOT_TRIED),
    "says-that-it-was-cut-short": _says(Verdict.CUT_SHORT),
    "says-that-its-share-is-used-up": _says(Verdict.SHARE_USED_UP),
    "sends-a-strange-packet": _sends(b"strange"),
    "sends-an-empty-packet": _sends(b""),
    "sends-a-reply-below-zero": _sends(_told(values=-8)),
    "sends-a-reply-beyond-all-bounds": _sends(_told(values=1 << 40)),
    "sends-a-reply-without-its-columns": _sends(_told(values=1 << 20)),
    "sends-a-reply-to-nothing": _sends(_told(mark=1 << 40)),
}
