"""Batches into real Iceberg tables: repeated, resent, cut off half-way, replayed, and by two."""

from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from clients.s3.lease import Lease, LeaseLostError
from fleetlane.events import headers as ce
from fleetlane.events.job_arguments import LakeTables
from fleetlane.events.lake.tables import CATALOG, EVENTS, PARKED
from fleetlane.events.times import MILLIS_MIN
from glue_jobs.engine.session import java_class, table_name
from glue_jobs.lake.batches import LakeBatches
from glue_jobs.lake.commits import Batch, TableLog
from glue_jobs.lake.merging import Target, merge
from glue_jobs.lake.rows import event_rows
from glue_jobs.lake.upkeep import LeaseGuard, compacted, expired
from tests.lease_in_memory import LeaseInMemory
from tests.spark.lake_records import DAY_MS, HOUR_MS, MINUTE_MS, NOON_MS, Record, Sent, read
from tests.spark.lakes import DEDUPED, ONCE, Lake, Query, lake_in

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def lake(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    return lake_in(tmp_path_factory.mktemp("lake"), spark)


WHOLE = Sent(number=100, arrival_ms=NOON_MS + DAY_MS)
GIVEN_TWICE = Sent(number=110)
RESENT = Sent(number=120)
READ_ANEW = Sent(number=130)
EVENING_MS = NOON_MS + 12 * HOUR_MS - MINUTE_MS
UNTIMED = Sent(number=140, arrival_ms=EVENING_MS)
UNTIMED_AGAIN = Sent(number=141, arrival_ms=EVENING_MS + 2 * MINUTE_MS)
PARKED_LATER = Sent(number=151)
REVISED, UNREVISED = Sent(number=160), Sent(number=161)
OVERTAKEN = Sent(number=170)
DOUBLED = Sent(number=180)
ONCE_ONLY = Sent(number=190, stream=ONCE)

PLAIN_BATCHES = (
    [
        WHOLE.event(at_ms=NOON_MS + 7),
        *(GIVEN_TWICE.event(ordinal) for ordinal in range(2)),
        *(RESENT.event(0) for _ in range(2)),
        READ_ANEW.event(0),
        UNTIMED.event(at_ms=None, event_id="untimed"),
        REVISED.event(0),
        REVISED.event(1, at_ms=NOON_MS - 3 * DAY_MS),
        UNREVISED.event(0),
        DOUBLED.event(0),
        ONCE_ONLY.event(0),
        ONCE_ONLY.unique_event(1),
    ],
    [
        *(RESENT.event(ordinal) for ordinal in range(2)),
        UNTIMED_AGAIN.event(at_ms=None, event_id="untimed"),
        PARKED_LATER.parked(),
        DOUBLED.event(1),
    ],
)
REVISED_BATCHES = (
    [
        REVISED.event(0, at_ms=NOON_MS + HOUR_MS, revision=1),
        OVERTAKEN.event(0, revision=2),
        OVERTAKEN.event(3, revision=1),
    ],
    [REVISED.event(1, revision=1), REVISED.event(1), OVERTAKEN.event(0), OVERTAKEN.event(1)],
)


@pytest.fixture(scope="module")
def filled(lake: Lake) -> Lake:
    """All that happens to events, in as few batches as may be: each is seconds of work."""
    query = lake.query("old")
    for number, records in enumerate(PLAIN_BATCHES):
        query.write(number, records)
    lake.query("old").write(0, PLAIN_BATCHES[0])
    lake.query("new").write(0, [READ_ANEW.event(0), READ_ANEW.event(1)])
    return lake


@pytest.fixture(scope="module")
def revised(filled: Lake) -> Lake:
    for number, records in enumerate(REVISED_BATCHES, start=len(PLAIN_BATCHES)):
        filled.query("old").write(number, records)
    return filled


def test_an_event_is_kept_with_all_that_it_says(filled: Lake) -> None:
    (row,) = filled.rows(EVENTS, WHOLE)

    assert row.asDict() | {"lake_ms": None} == {
        "lake_ms": None,
        "stream": "gps",
        "day": date(2025, 11, 3),
        "id": f"{WHOLE.raw_id}-0",
        "raw_id": WHOLE.raw_id,
        "device_id": "d-1",
        "arrival_ms": NOON_MS + DAY_MS,
        "time_quality": "ok",
        "parser": "json@1",
        "revision": 0,
        "data": '{"n":100,"revision":0}',
        "event_ms": NOON_MS + 7,
    }


def test_a_batch_that_is_given_again_changes_nothing(filled: Lake) -> None:
    assert len(filled.rows(EVENTS, GIVEN_TWICE)) == 2


def test_events_that_are_repeated_in_a_batch_and_after_it_stay_one_each(filled: Lake) -> None:
    assert [row.id[-1] for row in filled.rows(EVENTS, RESENT)] == ["0", "1"]


def test_a_checkpoint_that_begins_anew_repeats_nothing(filled: Lake) -> None:
    assert [row.id[-1] for row in filled.rows(EVENTS, READ_ANEW)] == ["0", "1"]


def test_an_untimed_event_that_is_resent_past_midnight_is_found(filled: Lake) -> None:
    rows = filled.rows(EVENTS, UNTIMED, UNTIMED_AGAIN)

    assert [row.raw_id for row in rows] == [UNTIMED.raw_id]


def test_a_stream_with_a_topic_without_repeats_is_kept_from_that_alone(filled: Lake) -> None:
    assert [row.id[-1] for row in filled.rows(EVENTS, ONCE_ONLY)] == ["1"]


def test_what_is_parked_is_kept_with_its_bytes(filled: Lake) -> None:
    (row,) = filled.rows(PARKED, PARKED_LATER)

    assert (bytes(row.body), row.reason, row.parked_from, row.device_id) == (
        b"x\xffz",
        "malformed",
        "raw.standard/0/151",
        "d-1",
    )


def test_a_table_that_was_read_leaves_no_allocator_behind(filled: Lake) -> None:
    allocation = java_class(filled.session, "org.apache.iceberg.arrow.ArrowAllocation")
    there_before = allocation.rootAllocator().getChildAllocators().size()

    filled.table(EVENTS).collect()

    assert allocation.rootAllocator().getChildAllocators().size() == there_before


@pytest.mark.faults
@pytest.mark.full_length
def test_a_higher_revision_takes_the_place_of_all_events_of_its_message(revised: Lake) -> None:
    rows = revised.rows(EVENTS, REVISED, UNREVISED)

    assert [(row.id[-3:], row.revision) for row in rows] == [("0-0", 1), ("0-1", 1), ("1-0", 0)]


@pytest.mark.faults
@pytest.mark.full_length
def test_an_older_revision_that_comes_late_is_left_out(revised: Lake) -> None:
    rows = revised.rows(EVENTS, OVERTAKEN)

    assert [(row.id[-1], row.revision) for row in rows] == [("0", 2)]


@pytest.mark.faults
@pytest.mark.full_length
def test_compaction_drops_repeats_and_expiry_forgets_no_batch(revised: Lake) -> None:
    events = revised.table(EVENTS)
    events.where(f"id = '{DOUBLED.raw_id}-0'").writeTo(table_name(revised.session, EVENTS)).append()
    before = len(revised.rows(EVENTS, DOUBLED))

    compacted(revised.session, EVENTS)
    expired(revised.session, EVENTS, now_ms=NOON_MS + 10_000 * DAY_MS)

    last = Batch(query="old", number=len(PLAIN_BATCHES) + len(REVISED_BATCHES) - 1)
    assert (before, len(revised.rows(EVENTS, DOUBLED))) == (3, 2)
    assert TableLog(revised.session, EVENTS).has(last)


@pytest.mark.faults
@pytest.mark.full_length
def test_compaction_reads_no_partition_that_nobody_wrote_to_for_days(
    spark: SparkSession, tmp_path: Path
) -> None:
    lake, sent = lake_in(tmp_path, spark), Sent(number=220)
    query = lake.query("large")
    query.write(0, [sent.event()])
    lake.append_again(EVENTS)
    query.write(1, [Sent(number=221).event(at_ms=NOON_MS + 3 * DAY_MS)])
    table = table_name(lake.session, EVENTS).removeprefix(f"{CATALOG}.")
    lake.session.sql(
        f"CALL {CATALOG}.system.expire_snapshots(table => '{table}', retain_last => 1,"
        " older_than => TIMESTAMP '2999-01-01')"
    ).collect()

    done = compacted(lake.session, EVENTS)

    assert "repeats dropped in 0 partitions" in done
    assert len(lake.rows(EVENTS, sent)) == 2


def test_who_lost_the_lease_writes_nothing(lake: Lake) -> None:
    sent, place = Sent(number=200), LeaseInMemory()
    lease = Lease(place, holder="a", lease_s=1e6)
    turns = LeaseGuard(
        lease, prepare=lambda: lake.prepare(LakeTables.EVENTS), keep=lambda _: lambda: True
    )
    batches = LakeBatches(
        session=lake.session,
        which=LakeTables.EVENTS,
        guard=turns,
        deduped=DEDUPED,
        erased_until_ms=dict,
        flows=lake.flows,
    )
    query = Query(lake=lake, name="lost", batches=batches)
    query.write(0, [])
    place.found = None
    with pytest.raises(LeaseLostError):
        lease.renew()

    with pytest.raises(LeaseLostError):
        query.write(1, [sent.event()])

    assert lake.rows(EVENTS, sent) == []


def test_who_was_paused_and_overtaken_in_mid_commit_mends_what_it_wrote_twice(lake: Lake) -> None:
    sent, other = Sent(number=210), lake.query("other")
    records = [sent.event(0), sent.event(1)]
    rows = event_rows(read(lake.session, records))

    merge(rows, target(lake, "paused", check=lambda: other.write(0, records)))

    assert len(lake.rows(EVENTS, sent)) == 2


def target(lake: Lake, query: str, *, check: Callable[[], None]) -> Target:
    return Target(
        table=EVENTS,
        log=TableLog(lake.session, EVENTS),
        batch=Batch(query=query, number=0),
        check=check,
    )


def test_an_event_whose_arrival_has_no_day_stops_no_other(lake: Lake) -> None:
    odd, first_day, good = (Sent(number=number) for number in (380, 381, 382))
    topic, value, headers = odd.event(at_ms=None)
    assert value is not None

    lake.query("no-day").write(
        0,
        [
            *(
                (topic, value.replace(str(NOON_MS).encode(), arrival), headers)
                for arrival in (b"9" * 18, b"-" + b"9" * 18, str(2**63 - 1).encode())
            ),
            first_day.event(at_ms=MILLIS_MIN),
            good.event(),
        ],
    )

    rows = lake.rows(EVENTS, odd, first_day, good)
    assert [(row.raw_id, row.day) for row in rows] == [
        (one.raw_id, date(2025, 11, 3)) for one in (first_day, good)
    ]


def test_a_topic_that_is_made_anew_reuses_no_parked_position(lake: Lake) -> None:
    def junk(value: bytes, *, parked_ms: int) -> Record:
        headers = Sent(number=350).parked(parked_ms=parked_ms)[2]
        return "parked", value, [one for one in headers if one[0].startswith(ce.PARKED_PREFIX)]

    query = lake.query("junk")

    query.write(0, [junk(b"first", parked_ms=NOON_MS), junk(b"first", parked_ms=NOON_MS + 1)])
    query.write(1, [junk(b"other", parked_ms=NOON_MS + 2), junk(b"first", parked_ms=NOON_MS + 3)])

    rows = lake.table(PARKED).where("parked_from = 'raw.standard/0/350'")
    assert sorted(bytes(row.body) for row in rows.collect()) == [b"first", b"other"]
