"""A file that ends an application between batches, where ending it otherwise would repeat some."""

import time
from collections.abc import Sequence
from typing import Any, Final, Protocol

from fleetlane.events.s3_keys import STOP_MARKERS
from glue_jobs.engine.hadoop_files import HadoopFiles

STOP_LIMIT_S: Final = 600.0
"""So long a batch may still take; then it is cancelled, and its outputs come again."""

_LOOK_AGAIN_S: Final = 0.01


class Query(Protocol):
    """The part of a streaming query that is looked at."""

    @property
    def isActive(self) -> bool: ...  # noqa: N802 - Spark's name
    @property
    def status(self) -> dict[str, Any]: ...
    @property
    def lastProgress(self) -> dict[str, Any] | None: ...  # noqa: N802 - Spark's name
    def stop(self) -> None: ...


class StopMarker:
    """The file ``stop/<application>`` in the checkpoint folder. It is used up by one stop."""

    def __init__(self, files: HadoopFiles, application: str) -> None:
        self._files, self._name = files, f"{STOP_MARKERS}{application}"

    def is_there(self) -> bool:
        return self._files.exists(self._name)

    def take_away(self) -> None:
        self._files.delete(self._name)


def stop_between_batches(queries: Sequence[Query], *, limit_s: float = STOP_LIMIT_S) -> bool:
    """Stop each query as soon as it is between batches; returns whether all of them came there.

    Spark itself would cancel a query's batch. One that has a batch after the other may lose the
    beginning of the next one; that batch comes again at the next start.
    """
    until_s = time.monotonic() + limit_s
    left = [(query, _batch(query)) for query in queries]
    while left and time.monotonic() < until_s:
        for query, batch in tuple(left):
            if not query.isActive or _is_between(query, batch):
                query.stop()
                left.remove((query, batch))
        time.sleep(_LOOK_AGAIN_S)
    for query, _ in left:
        query.stop()
    return not left


def _is_between(query: Query, batch: object) -> bool:
    return not query.status["isTriggerActive"] or _batch(query) != batch


def _batch(query: Query) -> object:
    progress = query.lastProgress
    return None if progress is None else progress["batchId"]
