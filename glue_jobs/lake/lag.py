"""How far a query of the lake is behind its topics, told whether its batches end or not."""

from collections.abc import Callable
from typing import Any, Final

from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)

PUBLISH_INTERVAL_S: Final = 60

_BEHIND: Final = "maxOffsetsBehindLatest"


class LakeLag(StreamingQueryListener):
    """Notes when the query of a name was level with its topics, however often it is started."""

    def __init__(self, query_name: str, *, now_ms: Callable[[], int]) -> None:
        self._query_name, self._now_ms = query_name, now_ms
        self._level_ms = now_ms()
        self._run_id: object = None

    def seconds(self) -> float:
        return max(0, self._now_ms() - self._level_ms) / 1_000

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802 - Spark's name
        if event.name == self._query_name:
            self._run_id = event.runId

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802
        progress = event.progress
        if progress.name == self._query_name:
            behind = [source.metrics for source in progress.sources]
            self.batch_done(behind, took_ms=progress.batchDuration)

    def onQueryIdle(self, event: QueryIdleEvent) -> None:  # noqa: N802
        if event.runId == self._run_id:
            self._level_ms = self._now_ms()

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802
        """Says nothing: whatever is not read any more makes the lag grow."""

    def batch_done(self, metrics: list[dict[str, Any]], *, took_ms: int) -> None:
        """Take a batch into account, by its sources' metrics: all is there that was at its start.

        Unless it took in a part alone, because a batch is only so large.
        """
        if all(float(of_source.get(_BEHIND, 0)) == 0 for of_source in metrics):
            self._level_ms = self._now_ms() - took_ms
