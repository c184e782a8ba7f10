"""The queries of the flows that dedupe: one each, so that nobody waits for another's."""

import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from fleetlane.events.errors import FleetlaneError
from fleetlane.events.flows.files import PublishedFlows
from glue_jobs.engine.stop_marker import Query, stop_between_batches
from glue_jobs.engine.supervisor import RESTART_S

LOOK_AGAIN_S: Final = 5
STOP_LIMIT_S: Final = 60.0
"""So long a batch may still take when its query gets another window."""

_log = logging.getLogger(__name__)


class UniqueQuery(Query, Protocol):
    """The part of a streaming query that is looked at."""

    def exception(self) -> object: ...


class Flows(Protocol):
    """Where the current flows come from."""

    def current(self) -> PublishedFlows: ...


class Remembered(Protocol):
    """Which streams were ever deduped; ``DedupedStreams`` is one."""

    def windows_s(self) -> Mapping[str, int]: ...
    def remember(self, windows_s: Mapping[str, int]) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class _Started:
    query: UniqueQuery
    window_s: int


class UniqueQueries:
    """Starts what should run, again when it failed. Its application ends without it.

    Only who waits for it has it look. A flow that dedupes no longer keeps its query, with the
    window that it had: consumers of its topic would wait for ever.
    """

    def __init__(
        self,
        start: Callable[[str, int], UniqueQuery],
        *,
        flows: Flows,
        remembered: Remembered,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._start, self._flows, self._remembered = start, flows, remembered
        self._clock_s = clock_s
        self._running: dict[str, _Started] = {}
        self._failed_at_s: dict[str, float] = {}
        self._looked_at_s: float | None = None
        self._over = threading.Event()

    @property
    def isActive(self) -> bool:  # noqa: N802 - Spark's
        """Whether it still looks after its queries."""
        return not self._over.is_set()

    def awaitTermination(self, timeout: int | None = None) -> bool | None:  # noqa: N802 - Spark's
        """Look after the queries for so many seconds, or for ever; true once it was stopped."""
        while True:
            self._look_in_time()
            if self._over.wait(LOOK_AGAIN_S if timeout is None else timeout):
                return True
            if timeout is not None:
                return False

    def stop(self) -> None:
        self._over.set()
        for started in self._running.values():
            started.query.stop()

    def look(self) -> None:
        """Start what should run and does not, and what is to have another window.

        Raises:
            FleetlaneError: Flows or checkpoints cannot be read. What runs goes on.
        """
        for stream, window_s in sorted(self._wanted().items()):
            if self._is_to_start(stream, window_s):
                self._start_one(stream, window_s)

    def _start_one(self, stream: str, window_s: int) -> None:
        try:
            query = self._start(stream, window_s)
        except FleetlaneError as problem:
            _log.error("unique.%s cannot be filled, and is tried again: %s", stream, problem)
            self._failed_at_s[stream] = self._clock_s()
            return
        self._running[stream] = _Started(query=query, window_s=window_s)

    def _look_in_time(self) -> None:
        now_s = self._clock_s()
        if self._looked_at_s is not None and now_s - self._looked_at_s < LOOK_AGAIN_S:
            return
        self._looked_at_s = now_s
        try:
            self.look()
        except FleetlaneError as problem:
            _log.warning("queries of flows that dedupe not looked after: %s", problem)

    def _wanted(self) -> Mapping[str, int]:
        """The window of each stream: its flow's, or else the last one that it had."""
        before = self._remembered.windows_s()
        flows = self._flows.current().flows
        now = {flow.stream: flow.dedupe.window_s for flow in flows if flow.dedupe is not None}
        wanted = {**before, **now}
        if wanted != before:
            self._remembered.remember(wanted)
        return wanted

    def _is_to_start(self, stream: str, window_s: int) -> bool:
        started = self._running.get(stream)
        if started is None:
            failed_at_s = self._failed_at_s.get(stream)
            return failed_at_s is None or self._clock_s() - failed_at_s >= RESTART_S
        if not started.query.isActive:
            _log.error("unique.%s ended, and starts again: %s", stream, started.query.exception())
            del self._running[stream]
            self._failed_at_s[stream] = self._clock_s()
            return False
        if started.window_s != window_s:
            stop_between_batches([started.query], limit_s=STOP_LIMIT_S)
            del self._running[stream]
            return True
        return False
