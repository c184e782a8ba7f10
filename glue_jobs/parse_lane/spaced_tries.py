"""Tries of one message in the slow lane, kept apart: what failed just now fails again at once."""

from collections.abc import Callable, Iterable, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from fleetlane.events import headers as ce


def spaced_tries(
    batches: Iterable[pa.RecordBatch],
    *,
    apart_ms: int,
    now_ms: Callable[[], int],
    sleep: Callable[[float], None],
) -> Iterator[pa.RecordBatch]:
    """Give record batches, each once the last try of all of its messages is ``apart_ms`` ago.

    A trigger alone does not see to it: a batch that takes long is followed by the next at once.
    When a try ended is when Kafka got the message back: ``timestamp`` of its record. Waits for
    ``apart_ms`` at most, whatever clocks say, and not at all for messages that come first.
    """
    for batch in batches:
        last_ms = _last_try_ms(batch)
        if last_ms is not None:
            left_ms = last_ms + apart_ms - now_ms()
            sleep(min(max(left_ms, 0), apart_ms) / 1000)
        yield batch


def _last_try_ms(batch: pa.RecordBatch) -> int | None:
    headers = batch.column("headers")
    is_told = pc.equal(headers.flatten().field("key"), ce.SLOW_TRIES)
    rows = pc.list_parent_indices(headers).filter(is_told)
    if not len(rows):
        return None
    times = batch.column("timestamp").take(rows).cast(pa.timestamp("ms", tz="UTC"), safe=False)
    newest_ms: int | None = pc.max(times.cast(pa.int64())).as_py()
    return newest_ms
