"""Records that come one by one, taken together where several wait."""

import threading
from collections.abc import Callable, Iterable, Iterator
from queue import Empty, Queue
from typing import Final

import pyarrow as pa

WAITING_MAX: Final = 256
"""So many records wait at most, each of which may have a megabyte."""

GATHERED_BYTES_MAX: Final = 8 << 20
QUIET_S: Final = 0.1

type _Waiting = Queue[pa.StructArray | BaseException]
"""Records, and behind the last one what reading ended by: ``StopIteration``, or an error."""


def gathered(
    batches: Iterable[pa.RecordBatch], on_quiet: Callable[[], None] = lambda: None
) -> Iterator[pa.RecordBatch]:
    """Give records as soon as they come, and in one batch what came while the last was worked on.

    ``batches`` have them, with markers, in their first column: columns are made once of all that
    wait. ``on_quiet`` is called where none comes for ``QUIET_S``.

    Each for itself, a burst's records would cost a round trip to the sandbox and a hundred calls of
    Arrow's each. A thread reads on meanwhile.
    """
    waiting: _Waiting = Queue(WAITING_MAX)
    threading.Thread(target=_read, args=(batches, waiting), daemon=True).start()
    while True:
        found, ended = _taken(waiting, on_quiet)
        if found:
            yield pa.RecordBatch.from_struct_array(pa.concat_arrays(found))
        if isinstance(ended, StopIteration):
            return
        if ended is not None:
            raise ended


def _read(batches: Iterable[pa.RecordBatch], waiting: _Waiting) -> None:
    try:
        for batch in batches:
            for record in records_in(batch):
                waiting.put(record)
    except BaseException as problem:  # noqa: BLE001 - it is raised again by who waits
        waiting.put(problem)
    else:
        waiting.put(StopIteration())


def _taken(
    waiting: _Waiting, on_quiet: Callable[[], None]
) -> tuple[list[pa.StructArray], BaseException | None]:
    """Wait for a record, and take all that are there with it; and the end, if it is."""
    found, found_bytes = list[pa.StructArray](), 0
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


def records_in(batch: pa.RecordBatch) -> Iterator[pa.StructArray]:
    """Each for itself, without the nulls behind it, which only show that it ended; uncopied."""
    rows = batch.column(0)
    if rows.null_count < len(rows):
        for row, is_record in enumerate(rows.is_valid().to_pylist()):
            if is_record:
                yield rows.slice(row, 1)
