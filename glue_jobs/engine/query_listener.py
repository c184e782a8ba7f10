"""Listeners to the progress of a query, however often it is started."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Final

import orjson
from py4j.java_gateway import JavaObject
from pyspark.sql import SparkSession
from pyspark.sql.streaming import listener as streaming

from glue_jobs.engine.session import java_class

_BEHIND: Final = "maxOffsetsBehindLatest"
_IN_JAVA: Final = "org.apache.spark.sql.streaming.PythonStreamingQueryListenerWrapper"


class QueryListener(streaming.StreamingQueryListener):
    """Receives the batches and idle triggers of the query with one name, and nothing at its end."""

    def __init__(self, query_name: str) -> None:
        self._query_name = query_name
        self._run_id: object = None

    @abstractmethod
    def on_batch(self, progress: streaming.StreamingQueryProgress) -> None: ...

    @abstractmethod
    def on_idle(self) -> None: ...

    def onQueryStarted(self, event: streaming.QueryStartedEvent) -> None:  # noqa: N802 - Spark's name
        if event.name == self._query_name:
            self._run_id = event.runId

    def onQueryProgress(self, event: streaming.QueryProgressEvent) -> None:  # noqa: N802
        if event.progress.name == self._query_name:
            self.on_batch(event.progress)

    def onQueryIdle(self, event: streaming.QueryIdleEvent) -> None:  # noqa: N802
        if event.runId == self._run_id:
            self.on_idle()

    def onQueryTerminated(self, event: streaming.QueryTerminatedEvent) -> None:  # noqa: N802
        """Nothing: alarms fire on metrics that are missing, or grow."""


class LakeLag(QueryListener):
    """Notes when the query of a name was level with its topics, however often it is started.

    An idle query has no record that is older than ``waits_ms_max``: so long it waits for others.
    """

    def __init__(self, name: str, *, now_ms: Callable[[], int], waits_ms_max: int = 0) -> None:
        super().__init__(name)
        self._now_ms, self._waits_ms_max = now_ms, waits_ms_max
        self._level_ms = now_ms()

    def seconds(self) -> float:
        return max(0, self._now_ms() - self._level_ms) / 1_000

    def on_batch(self, progress: streaming.StreamingQueryProgress) -> None:
        """The lake then has all that its topics had at the batch's start, unless it was full."""
        if all(float(source.metrics.get(_BEHIND, 0)) == 0 for source in progress.sources):
            self._level_ms = self._now_ms() - progress.batchDuration

    def on_idle(self) -> None:
        self._level_ms = max(self._level_ms, self._now_ms() - self._waits_ms_max)


def listen(session: SparkSession, listener: QueryListener) -> None:
    """Register a listener for all queries, which receives each batch as one JSON text.

    PySpark's own way fetches each value of a batch by itself, and each list of them ends with an
    exception, whose class is looked for in all jars: for one batch more work than planning it.
    """
    listener._jlistenerobj = java_class(session, _IN_JAVA)(_ByText(listener))  # noqa: SLF001 - its place
    session.streams.addListener(listener)


class _ByText(streaming.JStreamingQueryListener):
    """What Java calls; all events but batches come in PySpark's way."""

    def onQueryProgress(self, jevent: JavaObject) -> None:  # noqa: N802 - Spark's name
        progress = streaming.StreamingQueryProgress.fromJson(orjson.loads(jevent.progress().json()))
        self.pylistener.onQueryProgress(streaming.QueryProgressEvent(progress))
