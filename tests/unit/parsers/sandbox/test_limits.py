"""The small parts that decide: stopwatch, shared memory, and what is read from a child."""

import array
import mmap
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path

import pytest

from fleetlane.events.flows.files import flow_from_toml
from fleetlane.events.times import MILLIS_MAX, MILLIS_MIN
from fleetlane.parsers.sandbox.jail.entering import FILES_MAX
from fleetlane.parsers.sandbox.packets import REPLY_BYTES, Reply, reply_packets
from fleetlane.parsers.sandbox.results import NO_TIME, InvalidReplyError, Verdict
from fleetlane.parsers.sandbox.runs import EVENT_BYTES, USUAL_BYTES, USUAL_RATIO, Assignment
from fleetlane.parsers.sandbox.shared_memory import WorkerMemory, read_only
from fleetlane.parsers.sandbox.stopwatch import Stopwatch, cpu_ns
from fleetlane.parsers.sandbox.worker.excess import excess_of
from fleetlane.parsers.sandbox.worker.parser_child import Worked
from fleetlane.parsers.sandbox.worker.replies import (
    charges_of,
    check_growth,
    read_records,
    read_result,
)

TOPICS = ("canonical.gps",)


def test_a_stopwatch_adds_at_most_two_ticks_between_two_readings() -> None:
    stopwatch = Stopwatch(os.getpid(), tick_s=0.001)
    time.sleep(0.05)

    worked_s = stopwatch.read()

    assert worked_s <= 0.002


def test_what_the_worker_wrote_cannot_be_mapped_for_writing() -> None:
    memory = WorkerMemory(4096, "test")
    memory.view[:5] = b"input"

    with pytest.raises(PermissionError):
        mmap.mmap(memory.descriptor, 4096)

    assert bytes(read_only(memory.descriptor, 4096)[:5]) == b"input"
    memory.close()


def test_the_cpu_time_of_a_process_is_that_of_all_its_threads() -> None:
    busy = [sys.executable, "-c", _THREADS]
    with subprocess.Popen(busy, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.read(1)
        used_ns, _ = cpu_ns(process.pid)
        while cpu_ns(process.pid)[0] < used_ns + 50_000_000:
            time.sleep(0.01)

        process.kill()

    assert cpu_ns(process.pid) == (0, False), "it is gone"


def test_what_a_process_waits_for_a_cpu_is_not_its_work() -> None:
    with ExitStack() as started:
        waits, *_ = (started.enter_context(_busy_on_one_cpu(nice=nice)) for nice in (19, 0, 0))
        stopwatch, (before_ns, _) = Stopwatch(waits.pid, tick_s=0.05), cpu_ns(waits.pid)
        for _ in range(40):
            time.sleep(0.05)
            stopwatch.read()

        used_ns, _ = cpu_ns(waits.pid)

    assert stopwatch.worked_s < (used_ns - before_ns) / 1e9 + 0.5, "of two seconds"


@contextmanager
def _busy_on_one_cpu(*, nice: int) -> Iterator[subprocess.Popen[bytes]]:
    cpu = min(os.sched_getaffinity(0))
    code = f"import os; os.sched_setaffinity(0, [{cpu}]); os.nice({nice}); print(flush=True)"
    command = [sys.executable, "-c", f"{code}\nwhile True: pass"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield process
        finally:
            process.kill()


_THREADS = """
import threading, time
def spin():
    while True:
        pass
for _ in range(3):
    threading.Thread(target=spin, daemon=True).start()
print("ready", flush=True)
time.sleep(600)
"""


def test_a_process_with_too_much_memory_is_over_its_limit(tmp_path: Path) -> None:
    pid, folder = os.getpid(), str(tmp_path)

    assert excess_of(pid, folder, resident_bytes_max=1 << 40) is None
    assert "the limit is 1 bytes" in (excess_of(pid, folder, resident_bytes_max=1) or "")


def test_a_process_whose_first_thread_has_ended_is_over_its_limit(tmp_path: Path) -> None:
    code = (
        "import ctypes, threading, time\n"
        "threading.Thread(target=time.sleep, args=(60,)).start()\n"
        "print(flush=True)\n"
        "ctypes.CDLL(None).syscall(60, 0)"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        found, until_s = None, time.monotonic() + 10
        while found is None and time.monotonic() < until_s:
            time.sleep(0.05)
            found = excess_of(process.pid, str(tmp_path), resident_bytes_max=1 << 40)
        process.kill()

    assert found == "its first thread has ended"


def found_while(rename: Callable[[], None], folder: Path, *, times: int) -> list[str | None]:
    """What is found in a folder, so often, while a thread gives what is in it other names."""
    is_over, renamed = threading.Event(), threading.Event()

    def rename_on() -> None:
        while not is_over.is_set():
            rename()
            renamed.set()

    renaming = threading.Thread(target=rename_on)
    renaming.start()
    renamed.wait()
    found = [excess_of(os.getpid(), str(folder), resident_bytes_max=1 << 40) for _ in range(times)]
    is_over.set()
    renaming.join()
    return found


def test_files_that_get_other_names_meanwhile_are_counted(tmp_path: Path) -> None:
    for number in range(FILES_MAX + 50):
        (tmp_path / str(number)).touch()

    def rename() -> None:
        for number in range(FILES_MAX + 50):
            (tmp_path / str(number)).rename(tmp_path / f"{number}-")
        for number in range(FILES_MAX + 50):
            (tmp_path / f"{number}-").rename(tmp_path / str(number))

    assert None not in found_while(rename, tmp_path, times=300)


def test_what_lies_in_a_folder_that_gets_other_names_meanwhile_is_counted(tmp_path: Path) -> None:
    folder, numbers = tmp_path / "own", count()
    (folder / "0").mkdir(parents=True)
    for number in range(FILES_MAX + 50):
        (folder / "0" / str(number)).touch()

    def rename() -> None:
        number = next(numbers)
        (folder / str(number)).rename(folder / str(number + 1))

    assert None not in found_while(rename, folder, times=100)


def test_a_folder_whose_path_is_too_long_is_removed_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    inside = os.open(tmp_path / "own", os.O_RDONLY)
    for _ in range(20):
        os.mkdir("n" * 250, dir_fd=inside)
        outside, inside = inside, os.open("n" * 250, os.O_RDONLY, dir_fd=inside)
        os.close(outside)
    os.mkdir("b", 0o300, dir_fd=inside)
    os.close(inside)

    subprocess.run([sys.executable, "-c", _REMOVING, str(tmp_path / "own")], check=True)

    assert not (tmp_path / "own").exists()


def test_a_folder_that_is_deeper_than_a_process_has_descriptors_is_removed(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()

    subprocess.run([sys.executable, "-c", _DEEP + _REMOVING, str(own)], check=True)

    assert not own.exists()


_DEEP = """
import os, resource, sys
place = os.open(sys.argv[1], os.O_RDONLY)
for _ in range(1_000):
    os.mkdir("n" * 250, dir_fd=place)
    open(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=place), "wb").close()
    outside, place = place, os.open("n" * 250, os.O_RDONLY, dir_fd=place)
    os.close(outside)
os.close(place)
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
"""


def test_a_folder_that_may_not_be_read_is_removed_all_the_same(tmp_path: Path) -> None:
    inner = tmp_path / "own" / "inner"
    inner.mkdir(parents=True)
    (inner / "file").touch()
    (tmp_path / "beside").mkdir(mode=0o500)
    (inner.parent / "link").symlink_to(tmp_path / "beside")
    inner.chmod(0o300)
    inner.parent.chmod(0o300)

    subprocess.run([sys.executable, "-c", _REMOVING, str(inner.parent)], check=True)

    assert not inner.parent.exists()
    assert (tmp_path / "beside").stat().st_mode & 0o777 == 0o500


_REMOVING = """
import ctypes, sys
from pathlib import Path
from fleetlane.parsers.sandbox.jail.entering import remove_folder
from fleetlane.parsers.sandbox.jail.system_calls import called

header = (ctypes.c_uint32 * 2)(0x20080522, 0)
called("capset", ctypes.byref(header), ctypes.byref((ctypes.c_uint32 * 6)()))
remove_folder(Path(sys.argv[1]))
"""


_CHILD = """
import os, resource
from fleetlane.parsers.sandbox.child import main
from fleetlane.parsers.sandbox.jail.entering import Jail
from fleetlane.parsers.sandbox.runs import Program

class Connection:
    def send(self, hello):
        allowed_bytes, _ = resource.getrlimit(resource.RLIMIT_AS)
        print(allowed_bytes - main.OwnProcess().address_space_bytes())
        raise SystemExit

def memory():
    descriptor = os.memfd_create("memory")
    os.ftruncate(descriptor, 4096)
    return descriptor

program = Program(use="json", options=b"{}", memory_bytes_max=1 << 20)
main.serve(program, Connection(), (memory(), memory()), Jail(parts=frozenset(), folder="/"))
"""


def test_a_child_has_its_memory_limit_before_the_worker_is_told_that_it_is_ready() -> None:
    found = subprocess.run([sys.executable, "-c", _CHILD], capture_output=True, check=True)

    assert int(found.stdout) < 1 << 30, "the worker's limit, which comes next, may not be raised"


def _columns(
    *,
    verdict: int = 0,
    events: int = 1,
    times: tuple[int, int] = (NO_TIME, NO_TIME),
    ends: tuple[int, ...] = (0, 4),
    topic: int = 0,
) -> memoryview:
    numbers = array.array("i", ends).tobytes()
    counts, parse_us = (array.array("I", [number]).tobytes() for number in (events, 10))
    first_ms, last_ms = (array.array("q", [number]).tobytes() for number in times)
    notes = (bytes([verdict]), counts, parse_us, first_ms, last_ms)
    columns = (*notes, numbers, numbers, bytes([topic]), b"key.", b"val.")
    packets = reply_packets(_reply(), columns)
    return memoryview(b"".join(b"".join(packet) for packet in packets))[REPLY_BYTES:]


def _reply(**changes: int) -> Reply:
    sizes = {"messages": 1, "events": 1, "key_bytes": 4, "value_bytes": 4, "detail_bytes": 0}
    fields = {"mark": 0, "first": 0, **sizes, "charged_us": 0, "charged_bytes": 0, "is_retiring": 0}
    return Reply(**fields | changes)


@pytest.mark.parametrize("times", [(NO_TIME, NO_TIME), (MILLIS_MIN, MILLIS_MAX)])
def test_what_a_child_sent_is_read(times: tuple[int, int]) -> None:
    part, records = read_result(_reply(), _columns(times=times), TOPICS)

    assert (part.messages, list(records)) == (1, [("canonical.gps", b"key.", b"val.")])


BY = Assignment(
    flow=flow_from_toml(
        'stream = "gps"\nowner = "acme"\n[[parsers]]\nuse = "json"', file="test.toml"
    ),
    parser="p@1",
    parse_s=1.0,
)


def test_messages_are_charged_no_less_than_what_the_worker_saw_of_them() -> None:
    forged = _reply(value_bytes=1 << 20, events=10)

    charged_us, charged_bytes, _ = charges_of(forged, Worked(450_000, 0), 0, [b"1" * 10], BY)

    assert charged_us == 450_000 - 100_000
    assert charged_bytes == (1 << 20) + 10 * EVENT_BYTES - USUAL_BYTES - 10 * USUAL_RATIO


def test_what_a_child_reports_itself_is_charged_where_it_is_more() -> None:
    honest = _reply(charged_us=900_000, charged_bytes=5_000)

    assert charges_of(honest, Worked(450_000, 0), 0, [b""], BY)[:2] == (900_000, 5_000)


def test_what_was_seen_before_it_was_reported_is_charged_once() -> None:
    honest = _reply(charged_us=900_000)

    assert charges_of(honest, Worked(0, 0), 700_000, [b""], BY)[:2] == (200_000, 0)
    assert charges_of(honest, Worked(450_000, 0), 2_000_000, [b""], BY)[:2] == (350_000, 0)


def test_cpu_time_that_was_not_reported_yet_is_a_credit_for_the_replies_behind() -> None:
    early, late = Worked(0, 3_000_000), Worked(0, 0)
    honest = _reply(charged_us=1_000_000)

    charges, ahead_us = [], 0
    for worked in (early, late, late):
        charged_us, _, ahead_us = charges_of(honest, worked, ahead_us, [b""], BY)
        charges.append(charged_us)

    assert (charges, ahead_us) == ([2_900_000, -100_000, 200_000], 0)


def test_work_ahead_that_later_messages_may_do_uncharged_is_given_back() -> None:
    three_pieces, none_more = Worked(0, 270_000), Worked(0, 0)

    charges, ahead_us = [], 0
    for worked in (three_pieces, none_more, none_more):
        charged_us, _, ahead_us = charges_of(_reply(charged_us=0), worked, ahead_us, [b""], BY)
        charges.append(charged_us)

    assert (sum(charges), ahead_us) == (0, 0)


@pytest.mark.parametrize("size", ["events", "key_bytes", "value_bytes", "detail_bytes"])
def test_more_than_messages_may_put_out_is_refused(size: str) -> None:
    with pytest.raises(InvalidReplyError, match="more than"):
        check_growth(_reply(**{size: 128 << 20}), BY.growth)


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        (_columns(ends=(0, 3)), "offsets"),
        (_columns(ends=(2, 4)), "offsets"),
        (_columns(topic=1), "topic"),
        (_columns(verdict=99), "notes"),
        (_columns(verdict=10, events=0), "notes"),
        (_columns(events=2), "number of events"),
        (_columns(verdict=1), "failed"),
        (_columns(times=(1 << 61, 1 << 61)), "times"),
        (_columns(times=(-(1 << 61), 0)), "times"),
        (_columns(times=(0, NO_TIME)), "times"),
        (_columns(times=(1, 0)), "times"),
    ],
)
def test_what_does_not_hold_together_is_refused(columns: memoryview, problem: str) -> None:
    with pytest.raises(InvalidReplyError, match=problem):
        read_result(_reply(), columns, TOPICS)


def test_no_child_says_of_the_last_lane_that_another_takes_more() -> None:
    verdict = int(Verdict.TOO_LARGE_FOR_LANE)
    reply = _reply(events=0, key_bytes=0, value_bytes=0)
    columns = _columns(verdict=verdict, events=0, ends=(0,))

    with pytest.raises(InvalidReplyError, match="a verdict that its lane does not have"):
        read_records(reply, columns, [b""], BY)
