"""What is looked at beside an application's queries: is it to stop, and how far are they?"""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Protocol

from fleetlane.events.errors import FleetlaneError
from fleetlane.events.metrics import ApplicationMetric
from glue_jobs.kafka.mirrored_offsets import Query

STOP_LOOKS_APART_S: Final = 10.0
"""Each is a HEAD and a LIST: in S3, about 1.50 USD a month for each application."""

OFFSET_LOOKS_APART_S: Final = 5.0
METRICS_APART_S: Final = 60.0

_log = logging.getLogger(__name__)


class Marker(Protocol):
    """Says that the application is to stop; ``StopMarker`` is one."""

    def is_there(self) -> bool: ...


class Mirrored(Protocol):
    """Tells Kafka how far queries are; ``MirroredOffsets`` is one."""

    def look(self, queries: Sequence[Query]) -> int: ...


class Every:
    """Says whether it is time again; the first time at once."""

    def __init__(self, apart_s: float, monotonic: Callable[[], float]) -> None:
        self._apart_s, self._monotonic = apart_s, monotonic
        self._next_s = monotonic()

    def is_due(self) -> bool:
        now_s = self._monotonic()
        if now_s < self._next_s:
            return False
        self._next_s = now_s + self._apart_s
        return True


class ApplicationWatch:
    """Looks in turn at what has its time. What cannot be looked at is logged, and ends nothing."""

    def __init__(
        self,
        *,
        marker: Marker,
        mirrored: Mirrored,
        publish: Callable[[Mapping[str, float]], None],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._marker, self._mirrored, self._publish = marker, mirrored, publish
        self._stop_look = Every(STOP_LOOKS_APART_S, monotonic)
        self._offset_look = Every(OFFSET_LOOKS_APART_S, monotonic)
        self._metric = Every(METRICS_APART_S, monotonic)

    def is_to_stop(self, queries: Sequence[Query]) -> bool:
        """Look after the queries that run, and say whether all of them are to stop."""
        try:
            if self._offset_look.is_due():
                self._look_at_offsets(queries)
            return self._stop_look.is_due() and self._marker.is_there()
        except FleetlaneError as problem:
            _log.warning("not looked after: %s", problem)
            return False

    def _look_at_offsets(self, queries: Sequence[Query]) -> None:
        expired = self._mirrored.look(queries)
        if expired:
            _log.error("%d records expired before they were read", expired)
        if self._metric.is_due():
            self._publish({ApplicationMetric.EXPIRED_UNREAD: expired})
