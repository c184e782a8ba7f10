"""Records that come one by one, taken together where several wait."""

import threading
from collections.abc import Callable, Iterable, Iterator
from queue import Empty, Queue
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

WAITING_MAX: Final = 256
"""So many batches of Spark's wait at most, each of a record, which may have a megabyte."""

GATHERED_BYTES_MAX: Final = 8 << 20
QUIET_S: Final = 0.1

type _Waiting = Queue[pa.RecordBatch | BaseException]
"""Batches, and behind the last one what reading ended by: ``StopIteration``, or an error."""


def gathered(
    batches: Iterable[pa.RecordBatch], on_quiet: Callable[[], None] = lambda: None
) -> Iterator[pa.RecordBatch]:
    """Give records as soon as they come, and in one batch what came while the last was worked on.

    ``on_quiet`` is called where none comes for ``QUIET_S``.

    Each for itself, a burst's records would cost a round trip to the sandbox and a hundred calls of
    Arrow's each. A thread reads on meanwhile.
    """
    waiting: _Waiting = Queue(WAITING_MAX)
    threading.Thread(target=_read, args=(batches, waiting), daemon=True).start()
    while True:
        found, ended = _taken(waiting, on_quiet)
        if found:
            yield found[0] if len(found) == 1 else pa.concat_batches(found)
        if isinstance(ended, StopIteration):
            return
        if ended is not None:
            raise ended


def _read(batches: Iterable[pa.RecordBatch], waiting: _Waiting) -> None:
    try:
        for records in filter(len, map(without_markers, batches)):
            waiting.put(records)
    except BaseException as problem:  # noqa: BLE001 - it is raised again by who waits
        waiting.put(problem)
    else:
        waiting.put(StopIteration())


def _taken(
    waiting: _Waiting, on_quiet: Callable[[], None]
) -> tuple[list[pa.RecordBatch], BaseException | None]:
    """Wait for a batch, and take all that are there with it; and the end, if it is."""
    found, found_bytes = list[pa.RecordBatch](), 0
    while not found or (found_bytes <= GATHERED_BYTES_MAX and not waiting.empty()):
        try:
            one = waiting.get(timeout=QUIET_S)
        except Empty:
            on_quiet()
            one = waiting.get()
        if isinstance(one, BaseException):
            return found, one
        found.append(one)
        found_bytes += one.nbytes
    return found, None


def without_markers(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Leave out the empty rows that stand behind records: each only shows that its record ended."""
    topics = batch.column("topic")
    if topics.null_count == len(batch):
        return batch.slice(0, 0)
    return batch.filter(pc.is_valid(topics)) if topics.null_count else batch
