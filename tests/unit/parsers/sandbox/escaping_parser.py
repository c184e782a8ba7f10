"""A parser that tries to get out of its jail in the way that its message names.

Each attempt gives what it got, or nothing where it was refused; what it does where it succeeds is
harmless: a signal that is ignored, a byte in a file of the test's own.
"""

import ctypes
import fcntl
import json
import mmap
import os
import resource
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

type Order = dict[str, Any]
type Escape = Callable[[Order], object]

_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Escaping:
    """A message is JSON: ``kind``, an ``id``, and where what it is after is."""

    def parse(self, message: bytes) -> Iterator[Mapping[str, object]]:
        order = json.loads(message)
        loot: object = None
        if order["kind"] in ESCAPES:
            try:
                loot = ESCAPES[order["kind"]](order)
            except (OSError, ValueError, RuntimeError, MemoryError, subprocess.SubprocessError):
                loot = None
        yield {"id": order["id"], "loot": repr(loot) if loot else None}


def _call(number: int, *arguments: object) -> str:
    """Make a system call, by its number on x86-64, and say what it gave.

    A seventh argument is on the stack, where an ``int`` sets four of its eight bytes.
    """
    whole = [ctypes.c_long(one) if isinstance(one, int) else one for one in arguments]
    result = _libc.syscall(ctypes.c_long(number), *whole)
    if result < 0:
        raise OSError(ctypes.get_errno(), f"system call {number}")
    return f"system call {number} gave {result}"


def _done(call: Callable[..., object], *arguments: object) -> str:
    call(*arguments)
    return "done"


def _calls(number: int, *arguments: object) -> Escape:
    return lambda _: _call(number, *arguments)


def _signals(pid_of: Callable[[Order], int]) -> Escape:
    def attempt(order: Order) -> str:
        os.kill(pid_of(order), signal.SIGURG)
        return "sent"

    return attempt


def _sends_by(number: int, *, is_group_first: bool = False) -> Escape:
    def attempt(order: Order) -> str:
        pid = order["worker"]
        return _call(number, *((pid, pid) if is_group_first else (pid,)), signal.SIGURG)

    return attempt


def _queues_a_signal(order: Order) -> str:
    information = (ctypes.c_int * 32)(signal.SIGURG, 0, -1)
    return _call(129, order["worker"], signal.SIGURG, information)


def _signals_by_handle(order: Order) -> str:
    signal.pidfd_send_signal(os.pidfd_open(order["worker"]), signal.SIGURG)
    return "sent"


def _has_the_kernel_signal(order: Order) -> str:
    ours, _ = os.pipe()
    fcntl.fcntl(ours, fcntl.F_SETOWN, order["worker"])
    fcntl.fcntl(ours, 10, signal.SIGURG)
    return "owned by the worker"


def _stops_its_zygote(_: Order) -> str:
    os.kill(os.getppid(), signal.SIGSTOP)
    return "stopped"


def _continues_its_zygote(_: Order) -> str:
    os.kill(os.getppid(), signal.SIGCONT)
    return "continued"


def _traces(pid_of: Callable[[Order], int]) -> Escape:
    return lambda order: _call(101, 16, pid_of(order), 0, 0)


def _reads(path_of: Callable[[Order], str]) -> Escape:
    return lambda order: Path(path_of(order)).read_bytes()[:80] or "an empty file"


def _lists(path_of: Callable[[Order], str]) -> Escape:
    return lambda order: sorted(map(str, Path(path_of(order)).iterdir()))[:5]


def _writes(path_of: Callable[[Order], str]) -> Escape:
    def attempt(order: Order) -> str:
        with Path(path_of(order)).open("ab") as file:
            file.write(b"#")
        return "written"

    return attempt


def _reads_memory(order: Order) -> bytes:
    with Path(f"/proc/{order['worker']}/mem").open("rb") as memory:
        memory.seek(order["address"])
        return memory.read(8)


def _copies_memory(number: int) -> Escape:
    def attempt(order: Order) -> str:
        ours = ctypes.create_string_buffer(8)
        local = (ctypes.c_size_t * 2)(ctypes.addressof(ours), 8)
        remote = (ctypes.c_size_t * 2)(order["address"], 8)
        return _call(number, order["worker"], local, 1, remote, 1, 0)

    return attempt


def _words(*words: int, size: int = 128) -> ctypes.Array[ctypes.c_char]:
    """What a system call reads: these words of 32 bits, then zeros."""
    return ctypes.create_string_buffer(struct.pack(f"{len(words)}I", *words), size)


def _opens_by_handle(order: Order) -> str:
    handle = _words(120)
    _call(303, -100, order["secret"].encode(), handle, ctypes.byref(ctypes.c_int()), 0)
    return _call(304, -100, handle, 0)


def _takes_a_descriptor(order: Order) -> str:
    return _call(438, os.pidfd_open(order["worker"]), 0, 0)


def _changes(act: Callable[[str], object], what: str = "secret") -> Escape:
    def attempt(order: Order) -> str:
        act(order[what])
        return "changed"

    return attempt


def _tmp(name: str) -> str:
    return os.path.join(tempfile.gettempdir(), name)  # noqa: PTH118 - as parsers of others do


def _links(order: Order) -> bytes:
    os.symlink(order["secret"], _tmp("link"))  # noqa: PTH211
    return Path(_tmp("link")).read_bytes()


def _links_hard(order: Order) -> bytes:
    os.link(order["secret"], _tmp("hard"))
    return Path(_tmp("hard")).read_bytes()


def _connects(order: Order) -> bytes:
    with socket.create_connection(("127.0.0.1", order["port"]), timeout=1) as connection:
        return connection.recv(9)


def _connects_by_path(order: Order) -> bytes:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(order["door"])
        return connection.recv(9)


def _makes_a_socket(*kind: int) -> Escape:
    return lambda _: socket.socket(*kind)


def _bombs(_: Order) -> int:
    """Fork for ever; says how many were made, in whichever of them goes on."""
    made = 0
    for _turn in range(50):
        made += os.fork() > 0
    return made


def _spawns(_: Order) -> object:
    return subprocess.run([sys.executable, "-V"], check=True)


def _executes_memory(_: Order) -> str:
    memory = os.memfd_create("program")
    os.write(memory, Path(sys.executable).read_bytes())
    os.execve(memory, ["python", "-V"], {})  # noqa: S606
    return "executed"


def _clones(_: Order) -> str:
    arguments = (ctypes.c_uint64 * 8)(0, 0, 0, 0, signal.SIGCHLD)
    return _call(435, arguments, ctypes.sizeof(arguments))


def _lifts_its_memory_limit(_: Order) -> str | None:
    unlimited = resource.RLIM_INFINITY
    resource.setrlimit(resource.RLIMIT_AS, (unlimited, unlimited))
    return "lifted"


def _hogs_what_it_may(_: Order) -> str:
    """As much as its hard limit lets it have, though that is not its own one."""
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
    return f"{len(mmap.mmap(-1, 8 << 30))} bytes"


def _limits_its_worker(order: Order) -> object:
    return resource.prlimit(order["worker"], resource.RLIMIT_NOFILE)


def _shares_memory(_: Order) -> str:
    Path("/dev/shm/escape").write_bytes(b"1")  # noqa: S108 - what this is for
    return "shared"


def _exhausts_descriptors(_: Order) -> str | None:
    opened = list[int]()
    try:
        opened.extend(os.open("/dev/null", os.O_RDONLY) for _turn in range(10_000))
    except OSError:
        return f"{len(opened)} files" if len(opened) > 1_000 else None
    finally:
        for one in opened:
            os.close(one)
    return "10,000 files"


def _reserves_space(_: Order) -> str:
    """Take space beyond a file's end, which its size does not show."""
    with Path(_tmp("reserved")).open("wb") as file:
        return _call(285, file.fileno(), 1, 0, 1 << 20)


def _fills(_: Order) -> str | None:
    """Write until it cannot, or is ended: there must not be room for much."""
    written = 0
    for number in range(64):
        with Path(_tmp(f"fill-{number}")).open("wb") as file:
            for _turn in range(16):
                written += file.write(bytes(1 << 20))
    return f"{written} bytes" if written > 512 << 20 else None


def _fills_with_names(_: Order) -> str:
    for number in range(20_000):
        Path(_tmp(f"name-{number}")).touch()
    return "20,000 files"


def _writes_a_large_file(_: Order) -> str | None:
    with Path(_tmp("large")).open("wb") as file:
        file.truncate(1 << 30)
    return "a file of 1 GiB"


def _bombs_with_threads(_: Order) -> str | None:
    """Thousands of threads that sleep: none is left once the message is done."""
    threading.stack_size(64 << 10)
    for _turn in range(4_000):
        threading.Thread(target=time.sleep, args=(30,), daemon=True).start()
    time.sleep(0.2)
    return f"{threading.active_count()} threads at once"


def _blocks_signals(_: Order) -> str:
    signal.pthread_sigmask(signal.SIG_SETMASK, signal.valid_signals())
    time.sleep(30)
    return "30 s"


def _flags_the_workers_stream(_: Order) -> str | None:
    if Path("/proc/self/fd/2").readlink() == Path("/dev/null"):
        return None
    return f"descriptor 2 is {Path('/proc/self/fd/2').readlink()}"


def _knows_its_environment(_: Order) -> str | None:
    known = Path("/proc/self/environ").read_bytes()
    return "the secret" if b"FLEETLANE_SECRET" in known or os.getenv("FLEETLANE_SECRET") else None  # noqa: TID251 - what this is for


def _survives_its_zygote(_: Order) -> str:
    return _call(157, 1, 0, 0, 0, 0)


def _patches(name: str, forged: Callable[..., object]) -> Escape:
    """Have our own code in this process write something else, for this message and those after."""

    def attempt(_: Order) -> None:
        setattr(sys.modules["fleetlane.parsers.sandbox.child.encoding"], name, forged)

    return attempt


def _forges_keys(key: bytes) -> Escape:
    def attempt(_: Order) -> None:
        columns = sys.modules["fleetlane.parsers.sandbox.canonical_records"].Columns
        append = columns.append_message

        def append_forged(
            self: object, topics: bytes, keys: list[bytes], values: list[bytes]
        ) -> None:
            append(self, topics, [key] * len(keys), values)

        columns.append_message = append_forged

    return attempt


def _tail(data: bytes) -> Callable[..., bytes]:
    return lambda *_: b'"timequality":"ok","data":' + data + b"}"


ESCAPES: dict[str, Escape] = {
    "stops-its-zygote": _stops_its_zygote,
    "continues-its-zygote": _continues_its_zygote,
    "traces-its-zygote": _traces(lambda _: os.getppid()),
    "traces-its-worker": _traces(lambda order: order["worker"]),
    "signals-its-worker": _signals(lambda order: order["worker"]),
    "signals-a-sibling": _signals(lambda order: order["sibling"]),
    "signals-init": _signals(lambda _: 1),
    "signals-all": _signals(lambda _: -1),
    "signals-a-group": _signals(lambda _: -os.getppid()),
    "signals-by-tkill": _sends_by(200),
    "signals-by-tgkill": _sends_by(234, is_group_first=True),
    "queues-a-signal": _queues_a_signal,
    "signals-by-handle": _signals_by_handle,
    "has-the-kernel-signal": _has_the_kernel_signal,
    "writes-another-artifact": _writes(lambda order: order["artifact"]),
    "writes-its-own-artifact": _writes(lambda _: __file__),
    "makes-its-artifact-writable": lambda _: _done(os.chmod, __file__, 0o666),
    "writes-compiled-code": _writes(lambda order: order["artifact"] + "c"),
    "writes-our-code": _writes(lambda _: sys.modules["fleetlane.events.names"].__file__ or ""),
    "reads-another-artifact": _reads(lambda order: order["artifact"]),
    "knows-the-environment": _knows_its_environment,
    "reads-the-workers-environment": _reads(lambda order: f"/proc/{order['worker']}/environ"),
    "reads-the-zygotes-environment": _reads(lambda _: f"/proc/{os.getppid()}/environ"),
    "reads-the-workers-command": _reads(lambda order: f"/proc/{order['worker']}/cmdline"),
    "reads-a-siblings-maps": _reads(lambda order: f"/proc/{order['sibling']}/maps"),
    "reads-the-workers-memory": _reads_memory,
    "copies-the-workers-memory": _copies_memory(310),
    "writes-the-workers-memory": _copies_memory(311),
    "lists-the-workers-descriptors": _lists(lambda order: f"/proc/{order['worker']}/fd"),
    "takes-a-descriptor": _takes_a_descriptor,
    "opens-the-flows-bucket": _lists(lambda order: order["bucket"]),
    "reads-a-checkpoint": _reads(lambda order: order["secret"]),
    "reads-by-its-root": _reads(lambda order: f"/proc/self/root{order['secret']}"),
    "reads-by-its-folder": _reads(lambda order: f"/proc/self/cwd/../../../../{order['secret']}"),
    "reads-by-a-link": _links,
    "reads-by-a-hard-link": _links_hard,
    "reads-the-passwords": _reads(lambda _: "/etc/shadow"),
    "writes-a-checkpoint": _writes(lambda order: order["secret"]),
    "removes-a-checkpoint": _changes(os.unlink),
    "moves-a-checkpoint": _changes(lambda path: os.rename(path, path + "2")),  # noqa: PTH104
    "takes-a-checkpoint": _changes(lambda path: os.rename(path, _tmp("mine"))),  # noqa: PTH104
    "truncates-a-checkpoint": _changes(lambda path: os.truncate(path, 0)),
    "makes-a-checkpoint-writable": _changes(lambda path: os.chmod(path, 0o777)),  # noqa: PTH101, S103
    "dates-a-checkpoint": _changes(lambda path: os.utime(path, (0, 0))),
    "makes-a-device": lambda _: _done(os.mknod, _tmp("device"), 0o020666, 0x103),
    "connects": _connects,
    "connects-by-path": _connects_by_path,
    "makes-a-udp-socket": _makes_a_socket(socket.AF_INET, socket.SOCK_DGRAM),
    "makes-a-netlink-socket": _makes_a_socket(socket.AF_NETLINK, socket.SOCK_RAW, 0),
    "makes-a-pair-of-sockets": lambda _: socket.socketpair(),
    "forks": lambda _: os.fork(),
    "bombs": _bombs,
    "forks-in-c": lambda _: _libc.fork() + 1,
    "clones": _clones,
    "spawns": _spawns,
    "executes": lambda _: os.execv(sys.executable, ["python", "-V"]),  # noqa: S606
    "executes-memory": _executes_memory,
    "has-files-of-its-own-in-a-thread": _calls(56, 0x10900, 0, 0, 0, 0),
    "unshares-its-files": _calls(436, 200, 300, 2),
    "reserves-space": _reserves_space,
    "has-io-uring": _calls(425, 8, ctypes.create_string_buffer(120)),
    "has-bpf": _calls(321, 0, _words(2, 4, 4, 1), 128),
    "watches-performance": _calls(298, _words(1, 112), 0, -1, -1, 0),
    "handles-page-faults": _calls(323, 1),
    "keeps-a-key": _calls(248, b"user", b"escape", b"1", 1, -3),
    "mounts": _calls(165, b"none", b"/mnt", b"tmpfs", 0, None),
    "has-a-namespace": _calls(272, 0x10000000),
    "changes-its-root": lambda _: _done(os.chroot, tempfile.gettempdir()),
    "becomes-another": lambda _: _done(os.setgroups, [0]),
    "opens-by-handle": _opens_by_handle,
    "lifts-its-memory-limit": _lifts_its_memory_limit,
    "hogs-what-it-may": _hogs_what_it_may,
    "limits-its-worker": _limits_its_worker,
    "slows-its-worker": lambda order: _done(os.setpriority, os.PRIO_PROCESS, order["worker"], 19),
    "pins-its-worker": lambda order: _done(os.sched_setaffinity, order["worker"], {0}),
    "schedules-itself-first": lambda _: _done(os.sched_setscheduler, 0, 1, os.sched_param(9)),
    "slows-its-workers-disk": lambda order: _call(251, 1, order["worker"], 3 << 13),
    "shares-memory": _shares_memory,
    "shares-memory-by-key": _calls(29, 0x466C, 4096, 0o1666),
    "shares-a-queue": _calls(68, 0x466C, 0o1666),
    "survives-its-zygote": _survives_its_zygote,
    "leaves-its-session": lambda _: _done(os.setpgid, 0, os.getppid()),
    "exhausts-descriptors": _exhausts_descriptors,
    "fills-its-folder": _fills,
    "fills-its-folder-with-names": _fills_with_names,
    "writes-a-large-file": _writes_a_large_file,
    "bombs-with-threads": _bombs_with_threads,
    "blocks-signals": _blocks_signals,
    "flags-the-workers-stream": _flags_the_workers_stream,
    "forges-a-source": _patches("canonical_tail", _tail(b'{},"source":"device/d-0","x":{}')),
    "forges-a-stream": _patches("canonical_tail", _tail(b'{},"type":"door"')),
    "forges-an-id": _patches("canonical_tail", _tail(b'{},"id":"0-0","rawid":"0","x":{}')),
    "forges-a-revision": _patches("canonical_tail", _tail(b'{},"revision":99')),
    "forges-a-second-record": _patches("canonical_tail", _tail(b'{}}{"source":"device/d-0"')),
    "forges-a-time": _patches("canonical_tail", lambda *_: b'"time":"no","data":{}}'),
    "forges-what-is-no-json": _patches("canonical_tail", _tail(b'{"a":}')),
    "forges-what-is-no-text": _patches("canonical_tail", _tail(b'{"a":"\xff"}')),
    "forges-a-key": _forges_keys(b"d-0/2025-11-03T14"),
    "forges-a-key-too-large-for-its-topic": _forges_keys(b"d-4/" + bytes(990_000)),
    "forges-a-sender": _patches(
        "message_facts_from",
        lambda _, *, stream: sys.modules["fleetlane.events.canonical"].MessageFacts(
            "0", "d-0", stream, 1762178709123
        ),
    ),
}
