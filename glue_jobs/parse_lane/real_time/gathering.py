"""Records that come one by one, taken together where several wait."""

import threading
from collections.abc import Iterable, Iterator
from queue import Empty, Queue
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

WAITING_MAX: Final = 256
"""So many batches of Spark's wait at most, each of a record or an empty row; more are not read. A
record may have a megabyte."""

GATHERED_BYTES_MAX: Final = 8 << 20


class _Ended:
    """Put behind the last batch, with what reading ended by, if that was an error."""

    def __init__(self, problem: BaseException | None = None) -> None:
        self.problem = problem


def gathered(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Give records as soon as they come, and in one batch what came while the last was worked on.

    Each for itself, a burst's records would cost a round trip to the sandbox and a hundred calls of
    Arrow's each. A thread reads on meanwhile.
    """
    waiting = Queue[pa.RecordBatch | _Ended](WAITING_MAX)
    threading.Thread(target=_read, args=(batches, waiting), daemon=True).start()
    while True:
        found, ended = _waiting(waiting)
        if found:
            yield without_markers(pa.concat_batches(found))
        if ended is not None:
            if ended.problem is not None:
                raise ended.problem
            return


def _read(batches: Iterable[pa.RecordBatch], waiting: "Queue[pa.RecordBatch | _Ended]") -> None:
    try:
        for batch in batches:
            waiting.put(batch)
    except BaseException as problem:  # noqa: BLE001 - it is raised again by who waits
        waiting.put(_Ended(problem))
    else:
        waiting.put(_Ended())


def _waiting(
    waiting: "Queue[pa.RecordBatch | _Ended]",
) -> tuple[list[pa.RecordBatch], _Ended | None]:
    """Wait for a batch, and take all that are there with it; and the end, if it is."""
    found, found_bytes = list[pa.RecordBatch](), 0
    one = waiting.get()
    while not isinstance(one, _Ended):
        found.append(one)
        found_bytes += one.nbytes
        if found_bytes > GATHERED_BYTES_MAX:
            return found, None
        try:
            one = waiting.get_nowait()
        except Empty:
            return found, None
    return found, one


def without_markers(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Leave out the empty rows that stand behind records: each only shows that its record ended."""
    topics = batch.column("topic")
    if topics.null_count == 0:
        return batch
    return batch.filter(pc.is_valid(topics))
