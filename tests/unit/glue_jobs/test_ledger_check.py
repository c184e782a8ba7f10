"""What the standing ledger writes, reports and checks again, by counts that are given."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from clients.accepted_counts import (
    MINUTE_MS,
    AcceptedCounts,
    AcceptedCountsUnavailableError,
    AcceptedMinute,
)
from clients.kafka.producer_record import ProducerRecord
from clients.s3.spool import Spool
from fleetlane.events.lanes import Lane
from fleetlane.events.metadata import Alert
from fleetlane.events.metrics import NO_FLOW_STREAM, JobMetric
from fleetlane.events.times import DAY_MS, HOUR_MS, now_ms
from fleetlane.events.topics import FLEET_PARSED
from glue_jobs.engine.hours import spans_of
from glue_jobs.standing_ledger.balance import (
    Counted,
    LedgerHour,
    MissingMessage,
    alerts_of,
    balanced,
)
from glue_jobs.standing_ledger.check import LedgerCheck
from glue_jobs.standing_ledger.main import is_spooling
from glue_jobs.standing_ledger.positions import NotedPositions, Positions
from tests.contract.aws_in_process import buckets

HOUR = 500_000 * HOUR_MS
HALF_PAST = HOUR + HOUR_MS // 2
LANDED = LedgerHour(
    hour_ms=HOUR, stream="gps", lane="standard", landed=5, landed_before=5, parsed=5
)
MISSING = MissingMessage(id="1ab", sha256=None, problem="its lane read it, and nothing came of it")


def counted(count: int, *, stream: str = "gps", minute_ms: int = HOUR) -> dict[AcceptedMinute, int]:
    return {AcceptedMinute(stream=stream, lane=Lane.STANDARD, minute_ms=minute_ms): count}


@pytest.mark.parametrize(
    ("accepted", "is_spooled", "found"),
    [(5, False, (0, 0)), (7, False, (2, 0)), (7, True, (0, 2)), (4, False, (0, 0))],
    ids=["alike", "fewer", "in the spool", "a repeat of the spool"],
)
def test_what_was_accepted_and_did_not_land_is_counted(
    accepted: int, *, is_spooled: bool, found: tuple[int, int]
) -> None:
    known = Counted(by_minute=counted(accepted), until_ms=HALF_PAST, is_spooled=is_spooled)

    [row] = balanced([LANDED], known, hours={HOUR})

    assert (row.accepted, row.not_landed, row.under_way) == (accepted, *found)


def test_a_message_sent_again_in_another_lane_has_landed_in_both() -> None:
    by_minute = {
        AcceptedMinute(stream="gps", lane=lane, minute_ms=HOUR): count
        for lane, count in ((Lane.STANDARD, 1), (Lane.BULK, 2))
    }
    both = replace(LANDED, landed=2, landed_before=2, duplicate=1, parsed=1)

    rows = balanced([both], Counted(by_minute=by_minute, until_ms=HALF_PAST), hours={HOUR})

    assert [(row.key[2], row.not_landed) for row in rows] == [("bulk", 1), ("standard", 0)]


@pytest.mark.parametrize(
    ("waited_ms", "may_come"),
    [([], False), ([2 * DAY_MS], False), ([2 * DAY_MS, 60_000], True)],
    ids=["empty", "stuck", "stuck and new"],
)
def test_what_is_stuck_in_the_spool_hides_no_loss(waited_ms: list[int], *, may_come: bool) -> None:
    record = ProducerRecord(topic="raw.standard", key=b"1", value=b"")
    with buckets("spool") as s3:
        spool = Spool(s3, "spool")
        for one in waited_ms:
            spool.put([record], now_ms=now_ms() - one)

        assert is_spooling(spool) is may_come


def test_what_was_accepted_just_now_is_under_way() -> None:
    known = Counted(by_minute=counted(6, minute_ms=HALF_PAST), until_ms=HALF_PAST)

    [row] = balanced([LANDED], known, hours={HOUR})

    assert (row.not_landed, row.under_way, row.is_settled) == (0, 1, False)


def test_without_an_archive_counts_are_shown_and_not_compared() -> None:
    [row] = balanced([LANDED], Counted(by_minute=counted(9), until_ms=None), hours={HOUR})

    assert (row.accepted, row.not_landed, row.is_settled) == (9, 0, True)


def test_streams_without_a_flow_are_compared_as_one() -> None:
    others = [replace(LANDED, stream=stream) for stream in ("new", "newer")]
    known = Counted(by_minute=counted(11, stream=NO_FLOW_STREAM), until_ms=HALF_PAST)

    rows = balanced(others, known, hours={HOUR})

    assert {row.stream: row.not_landed for row in rows} == {NO_FLOW_STREAM: 1, "new": 0, "newer": 0}


def test_what_came_before_its_stream_had_a_flow_is_none_that_did_not_land() -> None:
    by_minute = counted(2) | counted(3, stream=NO_FLOW_STREAM)

    rows = balanced([LANDED], Counted(by_minute=by_minute, until_ms=HALF_PAST), hours={HOUR})

    assert [(row.accepted, row.not_landed, row.under_way) for row in rows] == [(3, 0, 0), (2, 0, 0)]


def test_what_landed_and_has_no_flow_any_more_is_none_that_did_not_land() -> None:
    landed = replace(LANDED, stream=NO_FLOW_STREAM, landed=3, landed_before=3)

    rows = balanced([landed], Counted(by_minute=counted(4), until_ms=HALF_PAST), hours={HOUR})

    assert [(row.key[1], row.not_landed) for row in rows] == [(NO_FLOW_STREAM, 0), ("gps", 1)]


def test_an_hour_whose_counts_are_gone_has_none_rather_than_zero() -> None:
    [row] = balanced([LANDED], Counted(by_minute={}, until_ms=HALF_PAST), hours={HOUR})

    assert (row.accepted, row.not_landed) == (None, 0)


def test_what_was_accepted_in_a_lane_where_nothing_landed_has_a_row() -> None:
    known = Counted(by_minute=counted(3), until_ms=HALF_PAST)

    [row] = balanced([], known, hours={HOUR})

    assert (row.landed, row.accepted, row.not_landed) == (0, 3, 3)


def test_alerts_name_each_missing_message_with_the_same_id_every_time() -> None:
    hour = replace(LANDED, missing=1, missing_messages=(MISSING,), accepted=5, not_landed=2)

    alerts = list(alerts_of([hour], now_ms=HALF_PAST))

    assert [alert.id for alert in alerts] == [
        "message_missing/1ab/",
        f"not_landed/gps/standard/{HOUR}",
    ]
    assert (alerts[0].raw_id, alerts[0].problem) == ("1ab", MISSING.problem)
    assert alerts[1].messages == 2


@dataclass(slots=True)
class FakeTables:
    """What was written last of each hour; ``touched`` are hours of arrival."""

    version: int = 1
    asked_since_ms: int = 0
    touched: set[int] = field(default_factory=set)
    rows: dict[int, Mapping[str, Any]] = field(default_factory=dict)

    def snapshots(self) -> Mapping[str, int | None] | None:
        return {"parsed": self.version}

    def hours(self) -> Mapping[int, bool]:
        return {one: row["is_settled"] for one, row in self.rows.items()}

    def touched_hours(self, *, since_ms: int) -> set[int]:
        self.asked_since_ms = since_ms
        return self.touched

    def accepted(self, hours: Collection[int]) -> Mapping[AcceptedMinute, int]:
        known = {hour: self.rows[hour]["accepted"] for hour in hours if hour in self.rows}
        return {
            AcceptedMinute(stream="gps", lane=Lane.STANDARD, minute_ms=hour): count
            for hour, count in known.items()
        }

    def write(self, records: Sequence[Mapping[str, Any]]) -> None:
        self.rows |= {record["hour_ms"]: record for record in records}

    def found(self, *, since_ms: int) -> tuple[int, int]:
        recent = [row for row in self.rows.values() if row["checked_ms"] >= since_ms]
        return sum(row["missing"] for row in recent), sum(row["not_landed"] for row in recent)


@dataclass(slots=True)
class FakeCounts:
    """Knows how many were accepted in ``HOUR``, unless it is unavailable."""

    count: int | None
    asked_ms: list[tuple[int, int]] = field(default_factory=list)

    def between(self, from_ms: int, to_ms: int) -> Mapping[AcceptedMinute, int]:
        self.asked_ms.append((from_ms, to_ms))
        if self.count is None:
            raise AcceptedCountsUnavailableError("throttled")
        return counted(self.count) if from_ms <= HOUR < to_ms else {}


@dataclass(slots=True)
class Rig:
    """A check whose clock and messages the test sets.

    The lake is level with everything, but for so many ``attempts``.
    """

    landed: list[LedgerHour]
    now_ms: int = HALF_PAST
    attempts: int = 0
    tables: FakeTables = field(default_factory=FakeTables)
    counts: AcceptedCounts | None = None
    asked: list[set[int]] = field(default_factory=list)
    sent: list[str] = field(default_factory=list)
    published: list[Mapping[str, float]] = field(default_factory=list)

    def check(self) -> LedgerCheck:
        return LedgerCheck(
            tables=self.tables,
            positions=self._positions,
            landed=self._landed,
            counts=self.counts,
            is_spooling=lambda: False,
            send=self._send,
            publish=self.published.append,
            now_ms=lambda: self.now_ms,
            has_archive=True,
        )

    def _positions(self) -> Positions:
        ends = {(FLEET_PARSED, 0): self.attempts}
        return Positions(
            at_ms=self.now_ms, begins={}, passed={}, archived={}, kept={}, deduped={}, ends=ends
        )

    def _landed(
        self, hours: Collection[int], noted: NotedPositions, until_ms: int
    ) -> Sequence[LedgerHour]:
        self.asked.append(set(hours))
        return [one for one in self.landed if one.hour_ms in hours]

    def _send(self, alerts: Sequence[Alert]) -> None:
        self.sent += [alert.id for alert in alerts]


def test_an_hour_is_settled_once_it_is_over_and_nothing_of_it_waits() -> None:
    rig = Rig([replace(LANDED, parsed=4, waiting=1)])
    check = rig.check()
    settled = []

    for minutes, landed in ((0, rig.landed), (60, rig.landed), (61, [LANDED])):
        rig.now_ms, rig.landed = HALF_PAST + minutes * MINUTE_MS, landed
        rig.tables.version += 1
        check.run()
        settled.append(rig.tables.rows[HOUR]["is_settled"])

    assert settled == [False, False, True]


def test_a_settled_hour_is_checked_again_only_when_something_of_it_comes() -> None:
    rig = Rig([LANDED], now_ms=HOUR + 2 * HOUR_MS)
    check = rig.check()
    check.run()

    for touched in (set[int](), {HOUR}):
        rig.tables.touched, rig.now_ms = touched, rig.now_ms + MINUTE_MS
        rig.tables.version += 1
        check.run()

    assert [HOUR in hours for hours in rig.asked] == [True, False, True]


def test_what_comes_into_a_late_lake_is_looked_for_from_where_the_lake_was() -> None:
    rig = Rig([LANDED])
    check = rig.check()
    check.run()
    level_ms, rig.attempts = rig.now_ms, 5
    for _ in range(3):
        rig.now_ms += HOUR_MS
        check.run()

    rig.attempts, rig.tables.version = 0, 2
    check.run()

    assert rig.tables.asked_since_ms == level_ms - HOUR_MS


def test_nothing_is_read_while_nothing_changes() -> None:
    rig = Rig([LANDED])
    check = rig.check()

    for _ in range(3):
        rig.now_ms += MINUTE_MS
        check.run()

    assert len(rig.asked) == 1
    assert len(rig.published) == 3


def test_a_missing_message_is_reported_once_and_published_for_a_day() -> None:
    rig = Rig([replace(LANDED, parsed=4, missing=1, missing_messages=(MISSING,))])
    check = rig.check()

    for _ in range(2):
        rig.now_ms += MINUTE_MS
        rig.tables.version += 1
        check.run()

    assert rig.sent == ["message_missing/1ab/"]
    assert [values[JobMetric.LEDGER_MISSING] for values in rig.published] == [1, 1]


def test_a_job_that_starts_again_goes_on_with_what_is_not_settled() -> None:
    waiting = HOUR - 50 * HOUR_MS
    rig = Rig([LANDED])
    rig.tables.rows[waiting] = {"is_settled": False, "checked_ms": 0, "missing": 0, "not_landed": 0}

    rig.check().run()

    assert {waiting, HOUR - HOUR_MS, HOUR} <= rig.asked[0]


def test_a_job_that_was_down_for_days_goes_back_to_the_last_hour_that_it_knew() -> None:
    known = HOUR - 50 * HOUR_MS
    rig = Rig([LANDED])
    rig.tables.rows[known] = {"is_settled": True, "checked_ms": 0, "missing": 0, "not_landed": 0}

    rig.check().run()

    assert rig.asked[0] == set(range(known + HOUR_MS, HOUR + 1, HOUR_MS))


def test_an_hour_is_not_settled_before_what_ingest_counted_of_it_could_be_read() -> None:
    counts = FakeCounts(count=None)
    rig = Rig([LANDED], now_ms=HOUR + 2 * HOUR_MS, counts=counts)
    check = rig.check()
    check.run()
    before = rig.tables.rows[HOUR]["is_settled"]

    counts.count, rig.now_ms, rig.tables.version = 7, rig.now_ms + MINUTE_MS, 2
    check.run()

    row = rig.tables.rows[HOUR]
    assert (before, row["is_settled"], row["not_landed"]) == (False, True, 2)


def test_counts_are_asked_for_no_earlier_than_they_are_kept() -> None:
    counts = FakeCounts(count=None)
    rig = Rig([LANDED], now_ms=HOUR + 20 * DAY_MS, counts=counts)
    rig.tables.touched = {HOUR}

    rig.check().run()

    assert min(from_ms for from_ms, _ in counts.asked_ms) == HOUR + 6 * DAY_MS
    assert rig.tables.rows[HOUR]["is_settled"]


def test_what_was_counted_of_an_hour_stays_known_when_it_is_opened_again_after_weeks() -> None:
    counts = FakeCounts(count=7)
    rig = Rig([LANDED], now_ms=HOUR + 2 * HOUR_MS, counts=counts)
    rig.check().run()
    counts.count, rig.now_ms, rig.tables.version = 0, HOUR + 20 * DAY_MS, 2
    rig.tables.touched = {HOUR}

    rig.check().run()

    row = rig.tables.rows[HOUR]
    assert (row["accepted"], row["not_landed"]) == (7, 2)


def test_what_was_counted_of_an_old_hour_stays_known_while_no_counts_can_be_read() -> None:
    counts = FakeCounts(count=7)
    rig = Rig([LANDED], now_ms=HOUR + 2 * HOUR_MS, counts=counts)
    rig.check().run()
    counts.count, rig.now_ms, rig.tables.version = None, HOUR + 20 * DAY_MS, 2
    rig.tables.touched = {HOUR}

    rig.check().run()

    row = rig.tables.rows[HOUR]
    assert (row["accepted"], row["not_landed"], row["is_settled"]) == (7, 2, True)


def test_an_old_hour_that_is_opened_again_costs_none_of_the_hours_since() -> None:
    counts = FakeCounts(count=5)
    rig = Rig([LANDED], now_ms=HOUR + 12 * DAY_MS, counts=counts)
    rig.tables.rows[rig.now_ms - HOUR_MS] = {
        "is_settled": True, "checked_ms": 0, "missing": 0, "not_landed": 0
    }  # fmt: skip
    check = rig.check()
    check.run()
    rig.tables.touched, rig.tables.version, rig.now_ms = {HOUR}, 2, rig.now_ms + HOUR_MS
    check.run()

    assert (HOUR, HOUR + HOUR_MS) in counts.asked_ms
    assert sum(to_ms - from_ms for from_ms, to_ms in counts.asked_ms) < 3 * DAY_MS
    assert rig.tables.rows[HOUR]["accepted"] == 5


def test_hours_that_follow_each_other_are_one_span_and_too_many_spans_are_one() -> None:
    apart = [HOUR + at * HOUR_MS for at in range(0, 100, 2)]

    assert spans_of({HOUR + HOUR_MS, HOUR, HOUR + 3 * HOUR_MS}) == [
        (HOUR, HOUR + 2 * HOUR_MS),
        (HOUR + 3 * HOUR_MS, HOUR + 4 * HOUR_MS),
    ]
    assert spans_of(apart) == [(HOUR, apart[-1] + HOUR_MS)]
