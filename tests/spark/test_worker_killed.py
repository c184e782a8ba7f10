"""A Spark worker that is killed takes with it whatever its sandboxes had."""

import os
import signal
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from fleetlane.parsers.sandbox.worker.sandboxes import Sandboxes
from tests.unit.parsers.sandbox.conftest import HOSTILE, body_of, no_time_limit, program, run_of
from tests.unit.parsers.sandbox.machine import (
    descendants_of,
    holders_of,
    is_alive,
    shared_memory_of,
    wait_until,
)

pytestmark = pytest.mark.spark

type ParseBatches = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]


@pytest.fixture
def site(tmp_path: Path) -> str:
    """The hostile parser as a wheel unpacks."""
    folder = tmp_path / "site"
    metadata = folder / "hostile-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Name: hostile\nVersion: 1.0\n")
    entry = "[fleetlane.parsers]\nhostile = hostile_parser:Hostile\n"
    (metadata / "entry_points.txt").write_text(entry)
    (folder / "hostile_parser.py").write_text(HOSTILE.read_text())
    return str(folder)


def hanging(kind: str, site: str, note: Path) -> ParseBatches:
    """What Spark runs in its worker: messages of which the last one hangs for ever."""

    def parse(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        sandboxes = Sandboxes(parts=())  # in a jail it could leave no process
        note.write_text(f"{os.getpid()}")
        bodies = [body_of(0, padding=3 << 20), body_of(1, kind)]
        run = run_of(program("hostile==1.0", site), bodies, parse_s=3600)
        for _ in sandboxes.parsed(run, no_time_limit()):
            (note.parent / "first").touch()
        yield from batches

    return parse


@pytest.mark.parametrize("kind", ["loops-in-c", "leaves-process-and-hangs"])
def test_a_spark_worker_that_is_killed_leaves_no_process_and_no_shared_memory(
    spark: SparkSession, site: str, tmp_path: Path, kind: str
) -> None:
    note, first = tmp_path / "worker", tmp_path / "first"
    rows = spark.range(1, numPartitions=1).mapInArrow(hanging(kind, site, note), "id long")
    started = 2 + (kind == "leaves-process-and-hangs")
    with ThreadPoolExecutor(max_workers=1) as pool:
        job = pool.submit(rows.collect)
        assert wait_until(lambda: first.exists() or job.done())
        worker = int(note.read_text())
        assert wait_until(lambda: len(descendants_of(worker)) >= started)
        processes = {worker, *descendants_of(worker)}
        memory = set[tuple[int, int]]().union(*map(shared_memory_of, processes))

        os.kill(worker, signal.SIGKILL)

        assert job.exception() is not None
        assert memory
        assert wait_until(lambda: not any(map(is_alive, processes)))
        assert wait_until(lambda: not holders_of(memory))
