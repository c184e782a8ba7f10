"""Queries that should run, started again when they end, and tasks repeated beside them."""

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from fleetlane.events.errors import FleetlaneError
from glue_jobs.engine.ended_queries import EndedQueries, ended_queries

POLL_INTERVAL_S: Final = 5
RESTART_S: Final = 30

STOP_LIMIT_S: Final = 600.0
"""How long a batch may still take when its application stops; then it is cancelled and repeated."""

REPLACE_LIMIT_S: Final = 60.0
"""Likewise, when its query is started again with other settings."""

_BATCH_POLL_INTERVAL_S: Final = 0.01

_log = logging.getLogger(__name__)


class Ends(Protocol):
    """What a task runs beside; ``StreamingQuery`` is one."""

    def awaitTermination(self, timeout: int) -> bool | None: ...  # noqa: N802 - Spark's


@dataclass(slots=True, kw_only=True)
class PeriodicTask:
    """Calls ``run`` every ``interval_s`` seconds.

    An exception of ``run`` is logged with ``name``, and the next call comes as planned. ``at_end``
    is called when the query that it runs beside ended without an error. Beside a query it also
    rests for ``rests`` times as long as its last call took, or as ``run`` says that it worked: what
    grows leaves the others their CPU.
    """

    name: str
    run: Callable[[], float | None]
    interval_s: int
    is_first_at_once: bool = True
    at_end: Callable[[], None] | None = None
    rests: int = 0
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
            took_s = 0.0
            if self.is_first_at_once:
                self._call()  # its code is compiled meanwhile: no measure for a rest
            while not query.awaitTermination(max(self.interval_s, round(self.rests * took_s))):
                took_s = self._call()
            if self.at_end is not None:
                self.at_end()
        except Exception as problem:  # noqa: BLE001 - the thread's edge: Spark may be gone by now
            _log.warning("%s: ended: %s", self.name, problem)

    def _call(self) -> float:
        began_s = self.monotonic()
        worked_s: float | None = None
        try:
            worked_s = self.run()
        except Exception as problem:  # noqa: BLE001 - the next call may succeed
            is_known = isinstance(problem, FleetlaneError)
            _log.warning("%s: failed this time: %s", self.name, problem, exc_info=not is_known)
        return self.monotonic() - began_s if worked_s is None else worked_s


class Query(Protocol):
    """The part of a ``StreamingQuery`` that is supervised."""

    @property
    def isActive(self) -> bool: ...  # noqa: N802 - Spark's name
    @property
    def status(self) -> dict[str, Any]: ...
    @property
    def lastProgress(self) -> dict[str, Any] | None: ...  # noqa: N802 - Spark's name
    def exception(self) -> object: ...
    def stop(self) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class DesiredQuery:
    """How a query is started. One that runs with other ``settings`` is stopped and started again.

    ``must_wait`` is asked before each start only: it may be slow.
    """

    start: Callable[[], Query]
    settings: object = None
    must_wait: Callable[[], bool] = lambda: False


class Supervisor:
    """Keeps the queries running that ``desired`` gives by name.

    One that ended starts again ``restart_s`` later, however often, so that it never ends those that
    share its application. One that is desired no longer is left as it is. Only ``check``, which
    ``awaitTermination`` calls, starts anything. ``ended`` counts what did not run as it should.
    """

    def __init__(
        self,
        desired: Callable[[], Mapping[str, DesiredQuery]],
        *,
        restart_s: float = RESTART_S,
        clock_s: Callable[[], float] = time.monotonic,
        ended: EndedQueries | None = None,
    ) -> None:
        self._desired, self._restart_s, self._clock_s = desired, restart_s, clock_s
        self.at_stop: Callable[[], None] = lambda: None
        """Called once all queries have been stopped."""
        self.waits_for_another: Callable[[], bool] = lambda: False
        """Whether a batch waits for another driver, which ends once all has begun here."""
        self._ended = ended or ended_queries()
        self._running: dict[str, tuple[Query, object]] = {}
        self._ended_at_s: dict[str, float] = {}
        self._over, self._checking = threading.Event(), threading.Lock()
        self._has_checked = False
        self.starts = True
        """Whether anything is still to be started."""
        self._checks = PeriodicTask(
            name="supervised queries", run=self.check, interval_s=POLL_INTERVAL_S
        )

    @property
    def isActive(self) -> bool:  # noqa: N802 - Spark's
        return not self._over.is_set()

    def awaitTermination(self, timeout: int) -> bool:  # noqa: N802 - Spark's
        """Check if that is due, and wait ``timeout`` seconds at most; true once it was stopped."""
        self._checks.run_if_due()
        return self._over.wait(timeout)

    def stop(self) -> None:
        """Stop all queries, for good; their batches are cancelled."""
        self._over.set()
        for query, _ in self._running.values():
            _stop(query)
        self.at_stop()

    def start_no_more(self) -> None:
        """Start nothing from now on; what runs goes on."""
        self.starts, self._desired = False, dict

    def check(self, *, hides_errors: bool = True) -> None:
        """Start what should run and does not, and what has other settings; each on its own.

        Raises:
            FleetlaneError: It cannot be read what should run. What runs goes on.
            Exception: With ``hides_errors`` unset, one of a start that is not of ours.
        """
        with self._checking:  # who waits for it checks, and so may others
            for name, desired in sorted(self._desired().items()):
                self._check_one(name, desired, hides_errors=hides_errors)
            self._has_checked = True

    def has_begun(self) -> bool:
        """Whether each query has had its first trigger, and none that ended waits for its start.

        Or is in it, and waits for another driver: that one ends only when this one has begun.
        """
        with self._checking:
            waits, running = self.waits_for_another(), self._running.items()
            begun = {n for n, (one, _) in running if _has_begun(one) or (waits and one.isActive)}
            return self._has_checked and begun >= self._running.keys() | self._ended_at_s.keys()

    def _check_one(self, name: str, desired: DesiredQuery, *, hides_errors: bool) -> None:
        try:
            if self._is_to_start(name, desired):
                self._running.pop(name, None)
                self._running[name] = desired.start(), desired.settings
        except Exception as problem:
            is_known = isinstance(problem, FleetlaneError)
            if not (hides_errors or is_known):
                raise
            message = "query %s cannot be started, and is tried again: %s"
            _log.error(message, name, problem, exc_info=not is_known)
            self._note_end(name)

    def _is_to_start(self, name: str, desired: DesiredQuery) -> bool:
        query, settings = self._running.get(name, (None, None))
        if query is not None and query.isActive:
            if settings == desired.settings:
                return False
            stop_between_batches([query], limit_s=REPLACE_LIMIT_S)
            return not query.isActive
        if query is not None:
            _log.error("query %s ended, and is started again: %s", name, query.exception())
            del self._running[name]
            self._note_end(name)
        ended_at_s = self._ended_at_s.get(name)
        is_paused = ended_at_s is not None and self._clock_s() - ended_at_s < self._restart_s
        return not is_paused and not desired.must_wait()

    def _note_end(self, name: str) -> None:
        self._ended_at_s[name] = self._clock_s()
        self._ended.add()


def always_running(
    starts: Mapping[str, Callable[[], Query]], *, restart_s: float = RESTART_S
) -> Supervisor:
    """Start queries, and give what keeps them running. An error that is not ours is not hidden."""
    queries = {name: DesiredQuery(start=start) for name, start in starts.items()}
    supervisor = Supervisor(lambda: queries, restart_s=restart_s)
    supervisor.check(hides_errors=False)
    return supervisor


def stop_between_batches(queries: Sequence[Query], *, limit_s: float = STOP_LIMIT_S) -> bool:
    """Stop each query as soon as it is between batches; returns whether all of them came there.

    Spark itself would cancel a query's batch. One that has a batch after the other may lose the
    beginning of the next one; that batch comes again at the next start.
    """
    until_s = time.monotonic() + limit_s
    left = [(query, _batch(query)) for query in queries]
    while left and time.monotonic() < until_s:
        for query, batch in tuple(left):
            has_a_batch = query.isActive and query.status["isTriggerActive"]
            if not has_a_batch or _batch(query) != batch:
                _stop(query)
                left.remove((query, batch))
        time.sleep(_BATCH_POLL_INTERVAL_S)
    for query, _ in left:
        _stop(query)
    return not left


def _stop(query: Query) -> None:
    """One that cannot be stopped keeps no other from its end."""
    try:
        query.stop()
    except Exception as problem:  # noqa: BLE001 - Spark's, of many kinds
        _log.error("a query cannot be stopped: %s", problem)


def _has_begun(query: Query) -> bool:
    """An idle trigger leaves no progress, but its query waits after it."""
    is_waiting = str(query.status.get("message")).startswith("Waiting")
    return query.isActive and (is_waiting or query.lastProgress is not None)


def _batch(query: Query) -> object:
    progress = query.lastProgress
    return None if progress is None else progress["batchId"]
