"""A parser that tries to get out: no way succeeds, and its neighbours' messages are the same."""

import ctypes
import json
import os
import platform
import socket
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fleetlane.parsers.sandbox.canonical_records import CanonicalRecord
from fleetlane.parsers.sandbox.jail.entering import Part
from fleetlane.parsers.sandbox.results import Verdict
from fleetlane.parsers.sandbox.runs import Program, Run
from fleetlane.parsers.sandbox.worker.sandboxes import Sandboxes
from tests.unit.parsers.sandbox.conftest import (
    HOSTILE,
    Install,
    children_of,
    no_time_limit,
    program,
    run_of,
)
from tests.unit.parsers.sandbox.escaping_parser import ESCAPES

ESCAPING = Path(__file__).with_name("escaping_parser.py")
PLACE = 4
SECRET = b"what no parser may know"
OUT_OF_BOUNDS = {
    "fills-its-folder": Verdict.CRASHED,
    "fills-its-folder-with-names": Verdict.CRASHED,
    "blocks-signals": Verdict.TIMEOUT,
    **{escape: Verdict.CRASHED for escape in ESCAPES if escape.startswith("forges-")},
}
"""What the kernel cannot refuse: the worker ends it, and the message is to blame."""

MAY_BE = {
    "bombs-with-threads": {Verdict.CRASHED, Verdict.TIMEOUT},
    "forges-a-sender": {Verdict.OK},
    # A slow disk takes its time first.
    **{escape: {Verdict.TIMEOUT} for escape in ESCAPES if escape.startswith("fills-its-folder")},
}
"""Threads meet the limit of the address space, the worker's, or that of time, where one hangs as it
starts: whichever is first. And a message's sender is read before its parser runs: only those behind
it are another's, and tried again."""

pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64", reason="the escapes know the numbers of x86-64's calls alone"
)

type World = dict[str, Any]


@pytest.fixture(scope="module", autouse=True)
def credentials() -> Iterator[None]:
    """In the worker's environment before anything is started."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("FLEETLANE_SECRET", "1")
        yield


@pytest.fixture(scope="module")
def escaping(install: Install) -> Program:
    site = install("escaping==1.0", "escaping_parser:Escaping", ESCAPING.read_text())
    return program("escaping==1.0", site)


@pytest.fixture(scope="module")
def jailed(jails: Sandboxes) -> Sandboxes:
    if problems := jails.jail_problems():
        pytest.skip(f"this kernel has no whole jail: {problems}")
    return jails


@pytest.fixture(scope="module")
def world(
    jailed: Sandboxes, install: Install, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[World]:
    """What a parser might reach outside, and where: all of it belongs to this user."""
    bucket = tmp_path_factory.mktemp("flows")
    (bucket / "offsets").write_bytes(SECRET)
    (bucket / "offsets").chmod(0o600)
    other = install("hostile==9.0", "hostile_parser:Hostile", HOSTILE.read_text())
    assert jailed.loaded(program("hostile==9.0", other), "acme").problem is None
    (sibling,) = children_of(jailed._zygote.pid)
    memory = ctypes.create_string_buffer(SECRET)
    with socket.create_server(("127.0.0.1", 0)) as door, socket.socket(socket.AF_UNIX) as by_path:
        by_path.bind(str(bucket / "door"))
        by_path.listen()
        greeting = [threading.Thread(target=_greet, args=(one,)) for one in (door, by_path)]
        for thread in greeting:
            thread.start()
        yield {
            "worker": os.getpid(),
            "sibling": sibling,
            "address": ctypes.addressof(memory),
            "bucket": str(bucket),
            "secret": str(bucket / "offsets"),
            "artifact": str(Path(other) / "hostile_parser.py"),
            "port": door.getsockname()[1],
            "door": str(bucket / "door"),
        }
        for server in (door, by_path):
            server.shutdown(socket.SHUT_RDWR)
        for thread in greeting:
            thread.join()
    assert memory.value == SECRET


def _greet(server: socket.socket) -> None:
    while True:
        try:
            connection, _ = server.accept()
        except OSError:
            return
        with connection:
            connection.send(b"come in")


def _snapshot(world: World) -> list[object]:
    paths = [*Path(world["bucket"]).iterdir(), *Path(world["artifact"]).parent.rglob("*.py")]
    found: list[object] = [
        (str(one), one.stat().st_mode, one.stat().st_mtime_ns, one.is_file() and one.read_bytes())
        for one in sorted(paths)
    ]
    return [*found, os.getpriority(os.PRIO_PROCESS, 0), os.sched_getaffinity(0)]


def _records(jailed: Sandboxes, run: Run) -> tuple[dict[int, Verdict], list[CanonicalRecord]]:
    verdicts, records = dict[int, Verdict](), list[CanonicalRecord]()
    for result in jailed.parsed(run, no_time_limit()):
        verdicts |= {place: attempt.verdict for place, attempt in result.attempts}
        records += list(result.records)
    return verdicts, sorted(records, key=lambda record: json.loads(record.value)["rawid"])


@pytest.mark.parametrize("escape", ESCAPES)
def test_no_escape_succeeds_and_the_neighbours_messages_come_out_byte_for_byte_the_same(
    jailed: Sandboxes, escaping: Program, world: World, escape: str
) -> None:
    bodies = [json.dumps({"kind": "good", "id": number}).encode() for number in range(8)]
    _, wanted = _records(jailed, run_of(escaping, bodies))
    before = _snapshot(world)
    bodies[PLACE] = json.dumps({"kind": escape, "id": PLACE, **world}).encode()

    verdicts, records = _records(jailed, run_of(escaping, bodies))

    loot = [json.loads(one.value)["data"]["loot"] for one in records if b'"rawid":"4"' in one.value]
    assert loot == ([None] if verdicts[PLACE] is Verdict.OK else [])
    allowed = {OUT_OF_BOUNDS.get(escape, Verdict.OK), *MAY_BE.get(escape, ())}
    assert verdicts[PLACE] in allowed
    assert [one for one in records if b'"rawid":"4"' not in one.value] == [
        one for one in wanted if b'"rawid":"4"' not in one.value
    ]
    assert _snapshot(world) == before
    assert len(children_of(jailed._zygote.pid)) <= 2


WITH_LIBRARIES = """
import io, tempfile, threading, zoneinfo
import numpy
import pyarrow.csv

class Parser:
    def parse(self, message):
        with tempfile.TemporaryDirectory() as folder, open(folder + "/kept", "w+b") as file:
            file.write(message)
            file.seek(0)
            rows = pyarrow.csv.read_csv(io.BytesIO(file.read())).num_rows
        square = numpy.ones((300, 300)) @ numpy.ones((300, 300))
        lines = []
        thread = threading.Thread(target=lambda: lines.append(1))
        thread.start()
        thread.join()
        zone = zoneinfo.ZoneInfo("Europe/Berlin").key
        yield {"rows": rows, "sum": int(square.sum()), "lines": lines, "zone": zone}
"""


def test_a_parser_of_numpy_and_arrow_with_threads_and_files_of_its_own_works(
    jailed: Sandboxes, install: Install
) -> None:
    site = install("libraries==1.0", "libraries_parser:Parser", WITH_LIBRARIES)
    roomy = replace(program("libraries==1.0", site), memory_bytes_max=1 << 30)
    run = run_of(roomy, [b"a,b\n1,2\n" * 9] * 3, parse_s=9.0)

    verdicts, records = _records(jailed, run)

    assert set(verdicts.values()) == {Verdict.OK}
    found = {one.value[one.value.index(b'"data":') :] for one in records}
    assert found == {b'"data":{"rows":17,"sum":27000000,"lines":[1],"zone":"Europe/Berlin"}}'}


@pytest.mark.parametrize(
    "escape", ["writes-a-checkpoint", "removes-a-checkpoint", "writes-its-own-artifact", "connects"]
)
def test_on_a_kernel_without_landlock_a_parser_works_and_can_write_nothing(
    escaping: Program, world: World, escape: str
) -> None:
    sandboxes = Sandboxes(parts=(Part.CALLS, Part.RIGHTS))
    before = _snapshot(world)
    body = json.dumps({"kind": escape, "id": 0, **world}).encode()

    verdicts, (record,) = _records(sandboxes, run_of(escaping, [body]))

    assert verdicts == {0: Verdict.OK}
    assert b'"loot":null' in record.value
    assert _snapshot(world) == before
    sandboxes.close()
