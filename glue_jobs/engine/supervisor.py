"""A query that may fail without ending those that share its application."""

import logging
import time
from collections.abc import Callable
from typing import Final, Protocol

from pyspark.errors import StreamingQueryException

RESTART_S: Final = 30

_log = logging.getLogger(__name__)


class Ends(Protocol):
    """What an application waits for; ``StreamingQuery`` is one."""

    @property
    def isActive(self) -> bool: ...  # noqa: N802 - Spark's

    def awaitTermination(self, timeout: int | None = None) -> bool | None: ...  # noqa: N802 - Spark's

    def stop(self) -> None: ...


class KeptQuery:
    """A query that is started again whenever it failed, after a pause. It never ends.

    Only who waits for it starts it again.
    """

    def __init__(
        self, start: Callable[[], Ends], *, clock_s: Callable[[], float] = time.monotonic
    ) -> None:
        self._start, self._clock_s = start, clock_s
        self._query: Ends | None = start()
        self._failed_at_s = 0.0

    @property
    def isActive(self) -> bool:  # noqa: N802 - Spark's
        """Whether it runs just now."""
        return self._query is not None and self._query.isActive

    def awaitTermination(self, timeout: int | None = None) -> bool | None:  # noqa: N802 - Spark's
        """Wait for so many seconds, or for ever; false each time."""
        while True:
            self._wait(1 if timeout is None else timeout)
            if timeout is not None:
                return False

    def stop(self) -> None:
        """Stop it, for who waits for it no longer."""
        if self._query is not None:
            self._query.stop()

    def _wait(self, timeout_s: int) -> None:
        if self._query is None:
            if self._clock_s() - self._failed_at_s >= RESTART_S:
                self._query = self._start()
            else:
                time.sleep(timeout_s)
            return
        try:
            if not self._query.awaitTermination(timeout_s):
                return
            _log.error("a query ended; it is started again")
        except StreamingQueryException as problem:
            _log.error("a query failed, and is started again: %s", problem)
        self._query, self._failed_at_s = None, self._clock_s()
