"""Records in real time come at once where they are alone, and together where several wait."""

import threading
from collections.abc import Iterator
from queue import Queue

import pyarrow as pa
import pytest

from glue_jobs.parse_lane.real_time.gathering import QUIET_S, gathered


def batch_of(*numbers: int | None) -> pa.RecordBatch:
    """``None`` is a marker."""
    rows = [None if number is None else {"number": number} for number in numbers]
    return pa.RecordBatch.from_arrays([pa.array(rows, RECORD)], ["record"])


RECORD = pa.struct([("number", pa.int64())])


def from_queue(queue: "Queue[pa.RecordBatch | None]") -> Iterator[pa.RecordBatch]:
    while (batch := queue.get()) is not None:
        yield batch


def test_a_record_that_is_alone_is_given_at_once() -> None:
    queue = Queue[pa.RecordBatch | None]()
    found = gathered(from_queue(queue))

    queue.put(batch_of(1))
    first = next(found)
    queue.put(batch_of(None))
    queue.put(batch_of(2))
    second = next(found)
    queue.put(None)

    assert [one.column("number").to_pylist() for one in (first, second)] == [[1], [2]]
    assert list(found) == []


def test_where_none_comes_for_a_while_it_is_said_once() -> None:
    queue, said = Queue[pa.RecordBatch | None](), Queue[str]()
    found = gathered(from_queue(queue), on_quiet=lambda: said.put("quiet"))

    threading.Timer(5 * QUIET_S, queue.put, [batch_of(1)]).start()
    first = next(found)
    queue.put(None)

    assert first.column("number").to_pylist() == [1]
    assert list(found) == []
    assert said.qsize() == 1


def test_what_came_meanwhile_is_one_batch_without_markers_in_order() -> None:
    all_read = threading.Event()

    def read() -> Iterator[pa.RecordBatch]:
        for number in range(100):
            yield batch_of(number)
            yield batch_of(None)
        all_read.set()

    found = gathered(read())
    batches = [next(found)]
    assert all_read.wait(10)
    batches += list(found)

    assert [row for one in batches for row in one.column("number").to_pylist()] == [*range(100)]
    assert len(batches) <= 3


def test_an_error_of_reading_comes_behind_what_was_read() -> None:
    def read() -> Iterator[pa.RecordBatch]:
        yield batch_of(1)
        raise OSError("gone")

    found = gathered(read())
    first = next(found)

    assert first.column("number").to_pylist() == [1]
    with pytest.raises(OSError, match="gone"):
        next(found)
