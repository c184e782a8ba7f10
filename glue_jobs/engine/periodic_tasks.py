"""Work that is repeated at an interval while queries run."""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from fleetlane.events.errors import FleetlaneError

_log = logging.getLogger(__name__)


class Ends(Protocol):
    """What an application waits for; ``StreamingQuery`` is one."""

    @property
    def isActive(self) -> bool: ...  # noqa: N802 - Spark's

    def awaitTermination(self, timeout: int | None = None) -> bool | None: ...  # noqa: N802 - Spark's

    def stop(self) -> None: ...


@dataclass(slots=True, kw_only=True)
class PeriodicTask:
    """Calls ``run`` every ``interval_s`` seconds.

    An exception of ``run`` is logged with ``name``, and the next call comes as planned; only
    ``ends_on`` ends a task that runs beside a query. ``at_end`` is called when that query ended
    without an error.
    """

    name: str
    run: Callable[[], None]
    interval_s: int
    is_first_at_once: bool = True
    ends_on: type[FleetlaneError] | None = None
    at_end: Callable[[], None] | None = None
    monotonic: Callable[[], float] = time.monotonic
    _due_s: float = field(default=0.0, init=False)

    def run_if_due(self) -> None:
        """Call it in the caller's thread if the interval has passed; the first time at once."""
        if self.monotonic() >= self._due_s:
            self._due_s = self.monotonic() + self.interval_s
            self._call()

    def run_beside(self, query: Ends) -> None:
        """Call it in a thread of its own until ``query`` ends; returns at once."""
        threading.Thread(target=self._run_until_end, args=(query,), daemon=True).start()

    def _run_until_end(self, query: Ends) -> None:
        try:
            if self.is_first_at_once:
                self._call()
            while not query.awaitTermination(self.interval_s):
                self._call()
            if self.at_end is not None:
                self.at_end()
        except Exception as problem:  # noqa: BLE001 - the thread's edge: Spark may be gone by now
            _log.warning("%s: ended: %s", self.name, problem)

    def _call(self) -> None:
        try:
            self.run()
        except Exception as problem:
            if self.ends_on is not None and isinstance(problem, self.ends_on):
                raise
            is_known = isinstance(problem, FleetlaneError)
            _log.warning("%s: failed this time: %s", self.name, problem, exc_info=not is_known)
