"""How listeners receive the progress of a session's queries."""

from typing import Final

import orjson
from py4j.java_gateway import JavaObject
from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import (
    JStreamingQueryListener,
    QueryProgressEvent,
    StreamingQueryListener,
    StreamingQueryProgress,
)

from glue_jobs.engine.session import java_class

_IN_JAVA: Final = "org.apache.spark.sql.streaming.PythonStreamingQueryListenerWrapper"


def listen(session: SparkSession, listener: StreamingQueryListener) -> None:
    """Register a listener for all queries, which receives each batch as one JSON text.

    PySpark's own way fetches each value of a batch by itself, and each list of them ends with an
    exception, whose class is looked for in the whole class path: for one batch more work than
    planning it.
    """
    listener._jlistenerobj = java_class(session, _IN_JAVA)(_ByText(listener))  # noqa: SLF001 - its place
    session.streams.addListener(listener)


class _ByText(JStreamingQueryListener):
    """What Java calls; all events but batches come in PySpark's way."""

    def onQueryProgress(self, jevent: JavaObject) -> None:  # noqa: N802 - Spark's name
        progress = StreamingQueryProgress.fromJson(orjson.loads(jevent.progress().json()))
        self.pylistener.onQueryProgress(QueryProgressEvent(progress))
