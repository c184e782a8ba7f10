"""What an application polls beside its queries: whether it is to stop, and how far they are."""

import logging
import time
from collections.abc import Callable, Mapping
from typing import Final

from fleetlane.events.metrics import ApplicationMetric
from glue_jobs.engine.periodic_tasks import PeriodicTask

STOP_POLL_INTERVAL_S: Final = 10
"""Each poll is a HEAD and a LIST: in S3, about 1.50 USD a month for each application."""

OFFSETS_INTERVAL_S: Final = 5
METRICS_INTERVAL_S: Final = 60

_log = logging.getLogger(__name__)


class ApplicationWatch:
    """Polls in the thread that waits for the queries. What cannot be polled is logged.

    ``is_marked`` says whether the application is to stop. ``mirrored`` commits to Kafka how far the
    queries are, and returns how many records expired before their query read them.
    """

    def __init__(
        self,
        *,
        is_marked: Callable[[], bool],
        mirrored: Callable[[], int],
        publish: Callable[[Mapping[str, float]], None],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._is_marked, self._mirrored, self._publish = is_marked, mirrored, publish
        self._is_to_stop, self._expired = False, 0

        def task(name: str, run: Callable[[], None], interval_s: int) -> PeriodicTask:
            return PeriodicTask(name=name, run=run, interval_s=interval_s, monotonic=monotonic)

        self._metric = task("expired records", self._publish_expired, METRICS_INTERVAL_S)
        self._offsets = task("mirrored offsets", self._mirror, OFFSETS_INTERVAL_S)
        self._stop = task("the file that stops the application", self._poll, STOP_POLL_INTERVAL_S)

    def is_to_stop(self) -> bool:
        """Poll what is due, and return whether all queries are to stop."""
        self._offsets.run_if_due()
        self._stop.run_if_due()
        return self._is_to_stop

    def _poll(self) -> None:
        self._is_to_stop = self._is_marked()

    def _mirror(self) -> None:
        self._expired = self._mirrored()
        if self._expired:
            _log.error("%d records expired before they were read", self._expired)
        self._metric.run_if_due()

    def _publish_expired(self) -> None:
        self._publish({ApplicationMetric.EXPIRED_UNREAD: self._expired})
