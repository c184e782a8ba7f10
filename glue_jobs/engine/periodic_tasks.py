"""What is looked after again and again beside a query, in a thread of its own."""

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass

from fleetlane.events.errors import FleetlaneError
from glue_jobs.engine.supervisor import Ends

_log = logging.getLogger(__name__)


def _nothing() -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Errand:
    """``look`` is called every so many seconds, for as long as a query runs.

    ``name`` stands for it in the log. What it raises is logged, and the next call may do better;
    only ``lasting`` ends the errand, like a lost lease. ``at_end`` is called when the query ended,
    and did not fail.
    """

    name: str
    look: Callable[[], None]
    every_s: int
    is_first_at_once: bool = False
    lasting: type[FleetlaneError] | None = None
    at_end: Callable[[], None] = _nothing

    def run_beside(self, query: Ends) -> None:
        """Start it; returns at once."""
        threading.Thread(target=self._run, args=(query,), daemon=True).start()

    def _run(self, query: Ends) -> None:
        try:
            if self.is_first_at_once:
                self._look()
            while not query.awaitTermination(self.every_s):
                self._look()
            self.at_end()
        except Exception as problem:  # noqa: BLE001 - the thread's edge: Spark may be gone by now
            _log.warning("%s: no more: %s", self.name, problem)

    def _look(self) -> None:
        try:
            self.look()
        except Exception as problem:
            if self.lasting is not None and isinstance(problem, self.lasting):
                raise
            is_known = isinstance(problem, FleetlaneError)
            _log.warning("%s: not now: %s", self.name, problem, exc_info=not is_known)
