"""What runs in Spark's Python workers here: it notes in a file what it does, and when."""

import os
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

import orjson
import pyarrow as pa

from glue_jobs.parse_lane.real_time.gathering import records_in

FAILS = b"fails once"
STOPS = b"reads no more"

type PerBatches = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]


class Note(NamedTuple):
    """``what`` is ``began``, ``ended`` or the record that a worker got; ``at_s`` is since 1970.

    ``tasks`` is how many tasks the process ``pid`` has had by then.
    """

    what: str
    at_s: float
    pid: int
    tasks: int


class _Process:
    tasks = 0


_process: Final = _Process()


class Notes:
    """The notes of all tasks of one query."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def begin(self) -> None:
        """Note a task. Here, as a function that Spark sends has a copy of what it counts by."""
        _process.tasks += 1
        self.add("began")

    def add(self, what: str) -> None:
        line = orjson.dumps([what, time.time(), os.getpid(), _process.tasks]) + b"\n"
        with self._file.open("ab") as file:
            file.write(line)

    def all(self) -> list[Note]:
        lines = self._file.read_bytes().splitlines() if self._file.exists() else []
        return [Note(*orjson.loads(line)) for line in lines]

    def of(self, what: str) -> list[Note]:
        return [note for note in self.all() if note.what == what]


def _values(batch: pa.RecordBatch) -> list[bytes]:
    if batch.schema.names == ["record"]:
        return [one["value"] for [one] in map(pa.Array.to_pylist, records_in(batch))]
    return list(batch.column("value").to_pylist())


def noting(notes: Notes, *, passes_on: bool = False, fails_at_once: bool = False) -> PerBatches:
    """The function for ``mapInArrow``: a task begins, gets records, and has got all of them.

    A record of ``FAILS`` fails its first task, one of ``STOPS`` has it read no more.
    """

    def noted(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        notes.begin()
        if fails_at_once:
            raise ValueError("it fails before its first record")
        for batch in batches:
            values = _values(batch)
            for value in values:
                notes.add(value.decode())
                if value == FAILS and len(notes.of(value.decode())) == 1:
                    raise ValueError("it fails once")
                if value == STOPS:
                    return
            if passes_on and values:
                yield pa.RecordBatch.from_arrays([pa.array(values, pa.binary())], ["value"])
        notes.add("ended")

    return noted
