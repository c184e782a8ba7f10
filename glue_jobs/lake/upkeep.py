"""Upkeep between batches, on an operator's request and once a day.

Compaction: few large files, one row a key. Expiry: a past that does not grow for ever.
"""

import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F

from clients.s3.lease import Lease, LeaseLostError, keep_renewed
from clients.s3.upkeep_requests import Upkeep, UpkeepAnswer, UpkeepRequest, UpkeepRequests
from fleetlane.events.lake.tables import CATALOG, LakeTable
from fleetlane.events.times import DAY_MS, rfc3339
from glue_jobs.engine.session import table_name
from glue_jobs.lake.commits import SNAPSHOTS_KEPT, TableLog, until_unopposed
from glue_jobs.lake.merging import Check, drop_repeats, in_places, places_with_repeats

POLL_INTERVAL_S: Final = 5
UPKEEP_INTERVAL_MS: Final = DAY_MS
SNAPSHOT_DAYS: Final = 5
"""How long a reader may hold on to what a table was. Nothing of a batch's mark hangs on it."""

_FILES_TO_REWRITE_MIN: Final = 4
_log = logging.getLogger(__name__)
type IsKept = Callable[[], bool]


@dataclass(slots=True)
class LeaseGuard:
    """Hands out one turn at a time. The first waits for the lease; then it is kept renewed.

    ``prepare`` is called whenever the lease was taken, before the turn. ``keep`` returns whether it
    is still renewed: once it is lost, the next turn waits for it again.
    """

    lease: Lease
    prepare: Callable[[], None]
    keep: Callable[[Lease], IsKept] = keep_renewed
    token: int = field(default=0, init=False)
    """Grows whenever the lease was taken: what was known of the tables before may be old."""

    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)
    _is_kept: IsKept | None = field(default=None, init=False)
    _is_prepared: bool = field(default=False, init=False)

    @contextmanager
    def turn(self) -> Iterator[Callable[[], None]]:
        """A turn, and what raises ``LeaseLostError``, as this does, once nothing may be written."""
        with self._lock:
            if self._is_kept is None or not self._is_kept():
                self.token = self.lease.take()
                self._is_kept, self._is_prepared = self.keep(self.lease), False
            if not self._is_prepared:
                self.prepare()
                self._is_prepared = True
            self.lease.check()
            yield self.lease.check

    def release(self, wait_s: float = POLL_INTERVAL_S) -> None:
        """Let another process have the lease at once, unless a turn here goes on."""
        if self._lock.acquire(timeout=wait_s):
            self.lease.release()
            self._is_kept = None
            self._lock.release()


@dataclass(frozen=True, slots=True, kw_only=True)
class UpkeepSchedule:
    """Does what is due, in turn with the batches. ``erase`` takes a device's rows out."""

    requests: UpkeepRequests
    guard: LeaseGuard
    works: Mapping[Upkeep, Callable[[], Mapping[str, str]]]
    erase: Callable[[str], Mapping[str, str]]
    now_ms: Callable[[], int]

    def do_due(self) -> None:
        """Do what an operator requested, and what is due; blocks while a batch has its turn.

        Raises ``LeaseLostError``, or ``RequestsUnavailableError`` where S3 does not answer.
        """
        request = self.requests.waiting()
        if request is not None:
            with self.guard.turn():
                if request == self.requests.waiting():  # the turn may have come days later
                    self.requests.answer(self._answered(request))
        last_ms, now_ms = self.requests.last_scheduled_ms(), self.now_ms()
        if last_ms is None:  # a new lake needs no upkeep
            self.requests.note_scheduled(now_ms)
        elif now_ms - last_ms >= UPKEEP_INTERVAL_MS:
            self._do_all(due_since_ms=last_ms)

    def _do_all(self, *, due_since_ms: int) -> None:
        """What the loss of the lease cut off stays due, for whoever holds it next."""
        noted_ms = due_since_ms
        try:
            for upkeep in (Upkeep.EXPIRE, Upkeep.COMPACT):  # compaction may end the process
                with self.guard.turn():
                    if self.requests.last_scheduled_ms() != noted_ms:
                        return  # another did it while this one waited for its turn
                    noted_ms = self.now_ms()
                    self.requests.note_scheduled(noted_ms)
                    answer = self._answered(UpkeepRequest(request_id="daily", upkeep=upkeep))
                    _log.warning("%s: %s", upkeep, answer.problem or answer.done)
        except LeaseLostError:
            if noted_ms != due_since_ms:
                self.requests.note_scheduled(due_since_ms)
            raise

    def _answered(self, request: UpkeepRequest) -> UpkeepAnswer:
        device = request.device_id
        try:
            done = dict(self.works[request.upkeep]() if device is None else self.erase(device))
        except LeaseLostError:
            raise
        except Exception as problem:  # noqa: BLE001 - what comes next does not depend on it
            _log.exception("%s failed", request.upkeep)
            text = str(problem).partition("\n")[0]
            return UpkeepAnswer(request_id=request.request_id, problem=text)
        return UpkeepAnswer(request_id=request.request_id, done=done)


def compacted(session: SparkSession, table: LakeTable, *, check: Check = lambda: None) -> str:
    """Drop repeats, then join small files; returns what was done.

    ``check`` is asked right before each commit. What another wrote meanwhile is left as it is:
    Iceberg refuses a commit that would take it away, and the work is done again.
    """
    repeats = _drop_repeats(session, table, check)
    strategy = f"strategy => '{'sort' if table.sorted_by else 'binpack'}'"
    options = f"options => map('min-input-files', '{_FILES_TO_REWRITE_MIN}')"
    files = _call(session, table, check, "rewrite_data_files", strategy, options)
    _call(session, table, check, "rewrite_manifests")
    return (
        f"{files['rewritten_data_files_count']} files became {files['added_data_files_count']},"
        f" repeats dropped in {repeats} partitions"
    )


def expired(session: SparkSession, table: LakeTable, *, now_ms: int) -> str:
    """Delete snapshots over ``SNAPSHOT_DAYS`` old, and the files that they alone need."""
    before = rfc3339(now_ms - SNAPSHOT_DAYS * DAY_MS)
    kept = f"older_than => TIMESTAMP '{before}', retain_last => {SNAPSHOTS_KEPT}"
    files = _call(session, table, lambda: None, "expire_snapshots", kept)
    return f"{files['deleted_data_files_count']} data files deleted"


def erased(session: SparkSession, table: LakeTable, *, device_id: str) -> str:
    """Delete a device's rows of a table that names any; says how many. Old snapshots keep them."""
    name = table_name(session, table)
    rows = session.table(name).where(F.col("device_id") == device_id).count()
    if rows:
        session.sql(
            f"DELETE FROM {name} WHERE device_id = :device",  # noqa: S608 - ours
            args={"device": device_id},
        )
    return f"{rows} rows of {device_id} deleted"


def _drop_repeats(session: SparkSession, table: LakeTable, check: Check) -> int:
    """Look where somebody wrote lately and left several files; large partitions always have some.

    What has no snapshot of its own any more was looked at on each of the days that it had one.
    """
    name = table_name(session, table)
    is_grown = "file_count > 1 AND last_updated_at IS NOT NULL"
    grown = session.table(f"{name}.partitions").where(is_grown)
    in_grown = in_places(grown.select("partition.*").collect())
    if in_grown is None:
        return 0
    places = places_with_repeats(session.table(name).where(in_grown), table)
    in_repeated = in_places(places)
    if in_repeated is not None:
        drop_repeats(session, table, within=in_repeated, check=check)
    return len(places)


def _call(
    session: SparkSession, table: LakeTable, check: Check, procedure: str, *arguments: str
) -> Mapping[str, object]:
    name = table_name(session, table).removeprefix(f"{CATALOG}.")
    given = ", ".join((f"table => '{name}'", *arguments))

    def attempt() -> Sequence[Row]:
        check()
        return session.sql(f"CALL {CATALOG}.system.{procedure}({given})").collect()

    return until_unopposed(attempt, log=TableLog(session, table))[0].asDict()
