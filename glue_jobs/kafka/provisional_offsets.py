"""How far queries in real time are, by what their workers report, between two batches' ends."""

import threading
from functools import cache
from typing import Final

from glue_jobs.kafka.admin import Offsets


class ProvisionalOffsets:
    """By a query's name, the offset of the next record of each partition. For several threads.

    All before is done and durable, but in no checkpoint yet: after a crash it comes again.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._offsets = dict[str, Offsets]()

    def note(self, query_name: str, offsets: Offsets) -> None:
        """Take note of offsets; a query that is noted runs in real time."""
        with self._lock:
            self._offsets[query_name] = {**self._offsets.get(query_name, {}), **offsets}

    def forget(self, query_name: str) -> None:
        with self._lock:
            self._offsets.pop(query_name, None)

    def of(self, query_name: str) -> Offsets | None:
        """``None`` where the query does not run in real time."""
        with self._lock:
            return self._offsets.get(query_name)


provisional_offsets: Final = cache(ProvisionalOffsets)
"""Those of this process, which is one application."""
