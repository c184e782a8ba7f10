"""How far the lake's tables are behind their topics, in time."""

from collections.abc import Callable
from typing import Final

from pyspark.sql.streaming.listener import StreamingQueryProgress

from glue_jobs.engine.query_listener import QueryListener

_BEHIND: Final = "maxOffsetsBehindLatest"


class LakeLag(QueryListener):
    """Notes when the query of a name was level with its topics, however often it is started.

    An idle query has no record that is older than ``waits_ms_max``: so long it waits for others.
    """

    def __init__(
        self, query_name: str, *, now_ms: Callable[[], int], waits_ms_max: int = 0
    ) -> None:
        super().__init__(query_name)
        self._now_ms, self._waits_ms_max = now_ms, waits_ms_max
        self._level_ms = now_ms()

    def seconds(self) -> float:
        return max(0, self._now_ms() - self._level_ms) / 1_000

    def on_batch(self, progress: StreamingQueryProgress) -> None:
        """The lake then has all that its topics had at the batch's start, unless it was full."""
        if all(float(source.metrics.get(_BEHIND, 0)) == 0 for source in progress.sources):
            self._level_ms = self._now_ms() - progress.batchDuration

    def on_idle(self) -> None:
        self._level_ms = max(self._level_ms, self._now_ms() - self._waits_ms_max)
