"""One check of the ledger after another: what changed is read, counted, written and reported."""

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Final, Protocol

from clients import accepted_counts
from fleetlane.events.metadata import Alert
from fleetlane.events.metrics import JobMetric
from fleetlane.events.times import DAY_MS, HOUR_MS
from glue_jobs.engine.hours import spans_of
from glue_jobs.standing_ledger.balance import Counted, LedgerHour, alerts_of, balanced
from glue_jobs.standing_ledger.positions import NotedPositions, Positions

COUNTED_AFTER_MS: Final = 2 * accepted_counts.MINUTE_MS
"""So long ingest's counts may take, and a message from its arrival to its topic."""

COUNTS_KEPT_MS: Final = 14 * DAY_MS
"""Of a time before, CloudWatch has no counts by the minute, or soon will not."""

SETTLED_AFTER_MS: Final = 15 * 60_000
"""No sooner after its end an hour is settled."""

_ALERTED_MAX: Final = 100_000
_log = logging.getLogger(__name__)


class Tables(Protocol):
    """The lake's tables; ``LedgerTables`` is them."""

    def snapshots(self) -> Mapping[str, int | None] | None: ...
    def hours(self) -> Mapping[int, bool]: ...
    def touched_hours(self, *, since_ms: int) -> set[int]: ...
    def accepted(self, hours: Collection[int]) -> Mapping[accepted_counts.AcceptedMinute, int]: ...
    def write(self, records: Sequence[Mapping[str, Any]]) -> None: ...
    def found(self, *, since_ms: int) -> tuple[int, int]: ...


@dataclass(slots=True, kw_only=True)
class LedgerCheck:
    """Holds together what one check leaves for the next. For one thread.

    ``landed`` counts the messages of some hours by positions, and tells those apart that arrived
    before a time. ``is_spooling`` says whether something waits in the spool. ``send`` returns once
    alerts are durable. An hour is settled once ``counts`` of it could be read, where there are any.
    """

    tables: Tables
    positions: Callable[[], Positions]
    landed: Callable[[Collection[int], NotedPositions, int], Sequence[LedgerHour]]
    counts: accepted_counts.AcceptedCounts | None
    is_spooling: Callable[[], bool]
    send: Callable[[Sequence[Alert]], None]
    publish: Callable[[Mapping[str, float]], None]
    now_ms: Callable[[], int]
    has_archive: bool
    _noted: NotedPositions = field(default_factory=NotedPositions, init=False)
    _open: set[int] | None = field(default=None, init=False)
    _done: object = field(default=None, init=False)
    _found: tuple[int, int] = field(default=(0, 0), init=False)
    _alerted: dict[str, None] = field(default_factory=dict, init=False)
    _spooling_ms: int = field(default=0, init=False)
    _began_ms: int = field(default=0, init=False)
    _read_ms: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self._began_ms = self.now_ms()

    def run(self) -> None:
        """Note positions, and check again where something changed; then publish what was found.

        Raises ``FleetlaneError`` where Kafka, or the flows, cannot be read now.
        """
        now_ms = self.now_ms()
        if self.is_spooling():
            self._spooling_ms = now_ms
        self._noted.note(self.positions())
        kept, archived = self._noted.kept, self._noted.archived
        snapshots = self.tables.snapshots()
        if kept is not None and snapshots is not None:
            read = None if archived is None else archived.passed
            begins = self._noted.newest.begins
            state = (snapshots, kept.passed, begins, read, now_ms // HOUR_MS)
            if state != self._done:
                self._check(kept, now_ms)
                self._done = state
        lag_ms = now_ms - (self._began_ms if kept is None else kept.at_ms)
        missing, not_landed = self._found
        self.publish(
            {
                JobMetric.LEDGER_MISSING: missing,
                JobMetric.LEDGER_NOT_LANDED: not_landed,
                JobMetric.LEDGER_LAG_SECONDS: max(0, lag_ms) / 1_000,
            }
        )

    def _check(self, kept: Positions, now_ms: int) -> None:
        hours = self._hours_to_check(now_ms)
        counts_from_ms = now_ms - now_ms % HOUR_MS - COUNTS_KEPT_MS
        archived = self._noted.archived if self.has_archive else None
        archived_ms = 0 if archived is None else archived.at_ms
        counted = self._counted(hours, counts_from_ms, archived_ms=archived_ms)
        landed = self.landed(hours, self._noted, counted.until_ms or 0)
        found = balanced(landed, counted, hours=hours)
        all_read_ms = min(kept.at_ms, archived_ms) if self.has_archive else kept.at_ms
        over = {one for one in hours if one + HOUR_MS + SETTLED_AFTER_MS <= all_read_ms}
        if not counted.is_whole:
            over = {one for one in over if one < counts_from_ms}
        records = [one.record(is_over=one.key[0] in over, checked_ms=now_ms) for one in found]
        if records:
            self.tables.write(records)
        self._report(found, now_ms)
        unsettled = {one.key[0] for one in found if not one.is_settled}
        self._open = (hours - over) | (hours & unsettled)
        self._found = self.tables.found(since_ms=now_ms - DAY_MS)
        self._read_ms = max(self._read_ms, all_read_ms - HOUR_MS)  # the lake may be hours behind

    def _hours_to_check(self, now_ms: int) -> set[int]:
        """What is not settled, what came since, and what was touched although it is settled."""
        last_ms = now_ms - now_ms % HOUR_MS
        if self._open is None:
            known = self.tables.hours()
            self._read_ms = min(last_ms - DAY_MS, max(known, default=last_ms))
            self._open = {one for one, is_settled in known.items() if not is_settled}
            since = range(self._read_ms, last_ms, HOUR_MS)
            self._open |= {one for one in since if one not in known}
        newest_ms = max(self._open, default=last_ms)
        coming = set(range(newest_ms, last_ms + 1, HOUR_MS)) | {last_ms}
        touched = self.tables.touched_hours(since_ms=self._read_ms)
        return self._open | coming | {one for one in touched if 0 <= one <= last_ms}

    def _counted(self, hours: Collection[int], from_ms: int, *, archived_ms: int) -> Counted:
        """What ingest counted, up to where all that landed is in the archive, or to 0 without one.

        Of hours before ``from_ms`` the ledger itself knows, which had asked in time. Nothing is
        said of a time when something waited in the spool.
        """
        if self.counts is None:
            return Counted(by_minute={}, until_ms=None)
        counts, is_whole = [self.tables.accepted([one for one in hours if one < from_ms])], True
        try:
            spans = [(max(from_ms, first), end) for first, end in spans_of(hours)]
            counts += [self.counts.between(*span) for span in spans]
        except accepted_counts.AcceptedCountsUnavailableError as problem:
            _log.warning("%s", problem)
            is_whole = False
        until_ms = max(0, archived_ms - COUNTED_AFTER_MS)
        return Counted(
            by_minute=dict(chain.from_iterable(one.items() for one in counts)),
            until_ms=until_ms - until_ms % accepted_counts.MINUTE_MS if self.has_archive else None,
            is_spooled=archived_ms <= self._spooling_ms + COUNTED_AFTER_MS,
            is_whole=is_whole,
        )

    def _report(self, found: Sequence[LedgerHour], now_ms: int) -> None:
        """Send what was not sent before. What cannot be sent now is sent by the next check."""
        alerts = [one for one in alerts_of(found, now_ms=now_ms) if one.id not in self._alerted]
        if not alerts:
            return
        for alert in alerts:
            _log.error("the ledger: %s", alert.to_json().decode())
        self.send(alerts)
        self._alerted |= dict.fromkeys(alert.id for alert in alerts)
        while len(self._alerted) > _ALERTED_MAX:
            del self._alerted[next(iter(self._alerted))]
