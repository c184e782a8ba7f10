"""Two processes write the lake, one of them paused for so long that the other took over."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

from clients.s3.lease import Lease, LeaseLostError
from fleetlane.events.job_arguments import LakeTables
from fleetlane.events.lake.tables import DAILY, EVENTS, PARSED, RECEIVED, REPEATS, LakeTable
from glue_jobs.lake.commits import Batch, TableLog
from glue_jobs.lake.events import merge_events
from glue_jobs.lake.merging import Target, drop_repeats, write_days
from glue_jobs.lake.rows import event_rows
from glue_jobs.lake.summaries import daily_rows
from glue_jobs.lake.upkeep import compacted
from tests.lease_in_memory import LeaseInMemory
from tests.spark.lake_records import NOON_MS, Sent, read
from tests.spark.lakes import Lake, lake_in

pytestmark = pytest.mark.spark

WAIT_S = 240.0
DAILY_CHECK = 4
"""The lease is checked at a turn's start and before `received`, then at the start of the counts'
turn and before `daily`: `parsed` has no rows."""


@pytest.fixture(scope="module")
def lake(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    return lake_in(tmp_path_factory.mktemp("lake"), spark)


class Pausing:
    """Lets the other write where it is checked for the n-th time: right before a commit."""

    def __init__(self, other: Callable[[], object], *, at: int = 1) -> None:
        self._other, self._at, self._checks = other, at, 0

    def __call__(self) -> None:
        self._checks += 1
        if self._checks == self._at:
            self._other()


class PausingLease(Lease):
    """A lease in whose checks another may write."""

    def __init__(self, pause: Pausing) -> None:
        super().__init__(LeaseInMemory(), holder="paused", lease_s=1e6)
        self._pause = pause

    def check(self) -> None:
        super().check()
        self._pause()


class Reading:
    """Rows that Spark has begun to read, and reads on once another has written."""

    def __init__(self, folder: Path) -> None:
        self._begun, self._may_go_on = folder / "begun", folder / "may-go-on"

    def condition(self) -> Column:
        """True of every row, but the first one that is read waits."""
        begun, may_go_on = self._begun, self._may_go_on

        def read_on(_: object) -> bool:
            try:
                begun.touch(exist_ok=False)
            except FileExistsError:
                return True
            deadline_s = time.monotonic() + WAIT_S
            while not may_go_on.exists():
                assert time.monotonic() < deadline_s, "the other is done long ago"
                time.sleep(0.02)
            return True

        return F.udf(read_on, "boolean", useArrow=False).asNondeterministic()(F.col("day"))

    def beside(self, other: Callable[[], object], *, work: Callable[[], object]) -> None:
        """Have ``other`` write while ``work`` reads its rows; returns when both are done."""
        with ThreadPoolExecutor(1) as threads:
            working = threads.submit(work)
            while not self._begun.exists():
                assert not working.done(), working.exception()
                time.sleep(0.02)
            try:
                other()
            finally:
                self._may_go_on.touch()
            working.result()


def target(lake: Lake, table: LakeTable, *, query: str, check: Callable[[], None]) -> Target:
    log, batch = TableLog(lake.session, table), Batch(query=query, number=0)
    return Target(table=table, log=log, batch=batch, check=check)


def test_what_another_commits_while_repeats_are_dropped_stays(lake: Lake, tmp_path: Path) -> None:
    twice, late = Sent(number=1), Sent(number=2)
    other, reading = lake.query("late"), Reading(tmp_path)
    other.write(0, [twice.event()])
    lake.append_again(EVENTS)
    of_day = F.col("day") == lake.rows(EVENTS, twice)[0].day

    reading.beside(
        lambda: other.write(1, [late.event()]),
        work=lambda: drop_repeats(lake.session, EVENTS, within=of_day & reading.condition()),
    )

    assert len(lake.rows(EVENTS, twice, late)) == 2
    assert TableLog(lake.session, EVENTS).has(Batch(query="late", number=1))


def test_what_another_commits_during_compaction_stays(lake: Lake) -> None:
    twice, of_repeats, of_files = (Sent(number=number) for number in (10, 11, 12))
    other = lake.query("compaction")
    other.write(0, [twice.event()])
    lake.append_again(EVENTS)

    at_repeats = Pausing(lambda: other.write(1, [of_repeats.event()]))
    compacted(lake.session, EVENTS, check=at_repeats)
    at_files = Pausing(lambda: other.write(2, [of_files.event()]))
    compacted(lake.session, EVENTS, check=at_files)

    assert len(lake.rows(EVENTS, twice, of_repeats, of_files)) == 3


def test_compaction_commits_nothing_without_the_lease(lake: Lake) -> None:
    def check() -> None:
        raise LeaseLostError("lake", "a")

    sent = Sent(number=20)
    lake.query("no-lease").write(0, [sent.event()])
    lake.append_again(EVENTS)

    with pytest.raises(LeaseLostError):
        compacted(lake.session, EVENTS, check=check)

    assert len(lake.rows(EVENTS, sent)) == 2
    drop_repeats(lake.session, EVENTS, within=F.lit(True))  # noqa: FBT003 - Spark's


def test_a_day_that_another_counted_meanwhile_is_counted_anew(lake: Lake) -> None:
    first, second = (Sent(number=number, device_id="d-days") for number in (30, 31))
    other = lake.query("counting", LakeTables.FLEET)
    other.write(0, [first.received()])
    pause = Pausing(lambda: other.write(1, [second.received()]), at=DAILY_CHECK)
    paused = lake.query("counted", LakeTables.FLEET, lease=PausingLease(pause))

    paused.write(0, [first.received()])

    (row,) = lake.table(DAILY).where("device_id = 'd-days'").collect()
    assert row.messages == 2


def test_a_day_that_another_counts_while_its_rows_are_read_is_counted_anew(
    lake: Lake, tmp_path: Path
) -> None:
    first, second = (Sent(number=number, device_id="d-reads") for number in (50, 51))
    other, reading = lake.query("counts", LakeTables.FLEET), Reading(tmp_path)
    other.write(0, [first.received()])

    def write() -> None:
        write_days(
            lambda: daily_rows(lake.table(RECEIVED).where(reading.condition()), lake.table(PARSED)),
            TableLog(lake.session, DAILY),
            lambda: None,
        )

    reading.beside(lambda: other.write(1, [second.received()]), work=write)

    (row,) = lake.table(DAILY).where("device_id = 'd-reads'").collect()
    assert row.messages == 2


def test_who_was_overtaken_leaves_the_sets_that_count(lake: Lake) -> None:
    sent, stays = Sent(number=40), Sent(number=41)
    other = lake.query("overtaking")
    old = [sent.event(0), sent.event(1), stays.event(0)]
    rows = event_rows(read(lake.session, old)).persist()

    def overtake() -> None:
        other.write(0, old)
        other.write(1, [sent.event(2, revision=1, at_ms=NOON_MS - 1)])

    merge_events(
        rows,
        target(lake, EVENTS, query="overtaken", check=Pausing(overtake)),
        target(lake, REPEATS, query="overtaken", check=lambda: None),
    )

    found = [(row.raw_id, row.id[-1], row.revision) for row in lake.rows(EVENTS, sent, stays)]
    assert found == [(sent.raw_id, "2", 1), (stays.raw_id, "0", 0)]
