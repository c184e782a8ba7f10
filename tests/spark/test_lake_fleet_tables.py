"""Metadata in the lake: received, parsed, and what is counted of them by day and hour."""

from dataclasses import replace

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from fleetlane.events.job_arguments import LakeTables
from fleetlane.events.lake.tables import DAILY, MADE_UP, PARSED, RECEIVED
from fleetlane.events.metadata import Outcome
from fleetlane.events.times import MILLIS_MIN
from glue_jobs.engine.session import table_name
from glue_jobs.fleet_watch.flow_hours import FlowHour
from glue_jobs.fleet_watch.flow_watch import LakeHours
from glue_jobs.lake.day_counts import DAYS_AT_ONCE
from glue_jobs.lake.main import ensure_table
from glue_jobs.lake.summaries import LAG_MS_MAX, SETTLED_AFTER_MS
from glue_jobs.lake.upkeep import compacted
from tests.spark.lake_records import DAY_MS, HOUR_MS, NOON_MS, Sent, read
from tests.spark.lakes import Lake, lake_in

pytestmark = pytest.mark.spark

ROW_GROUP = "write.parquet.row-group-size-bytes"


@pytest.fixture(scope="module")
def lake(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    return lake_in(tmp_path_factory.mktemp("lake"), spark)


def test_metadata_is_kept_once_and_by_its_arrival_day(lake: Lake) -> None:
    sent, query = Sent(number=300), lake.query("metadata", LakeTables.FLEET)
    later = NOON_MS + 2 * DAY_MS

    query.write(0, [sent.received(), sent.received()])
    query.write(1, [sent.received(), sent.parsed(parsed_ms=later), sent.parsed(parsed_ms=later)])

    (received,), (parsed,) = lake.rows(RECEIVED, sent), lake.rows(PARSED, sent)
    assert received.day == parsed.day
    assert (parsed.parsed_ms, parsed.reason) == (later, None)


def test_a_table_that_was_made_unsorted_lies_by_device_once_it_is_compacted(lake: Lake) -> None:
    older, day_ms = replace(RECEIVED, name="older"), NOON_MS + 9 * DAY_MS
    sent = [
        Sent(number=400 + number, device_id=f"d-{9 - number}", arrival_ms=day_ms)
        for number in range(9)
    ]
    lake.query("older", LakeTables.FLEET).write(0, [one.received() for one in sent])

    for is_sorted in (False, True):
        ensure_table(lake.session, older if is_sorted else replace(older, sorted_by=()))
        for one in sent:
            rows = lake.table(RECEIVED).where(f"id = '{one.raw_id}'")
            rows.writeTo(table_name(lake.session, older)).append()
    compacted(lake.session, older)

    (file,) = lake.session.table(f"{table_name(lake.session, older)}.files").collect()
    ids = pq.read_table(file.file_path.removeprefix("file:"))["device_id"].to_pylist()
    assert ids == [f"d-{number}" for number in range(1, 10)]
    given = lake.session.sql(f"SHOW TBLPROPERTIES {table_name(lake.session, older)}").collect()
    assert (ROW_GROUP, str(RECEIVED.row_group_bytes)) in {(one.key, one.value) for one in given}


def test_a_day_counts_each_message_by_the_outcome_that_counts(lake: Lake) -> None:
    one, two, three = (Sent(number=number, device_id="d-daily") for number in (310, 311, 312))
    query = lake.query("daily", LakeTables.FLEET)
    late_ms = NOON_MS - 2 * HOUR_MS

    query.write(
        0,
        [
            one.received(end_ms=late_ms, firmware="1"),
            two.received(received_ms=NOON_MS + 9, end_ms=NOON_MS + HOUR_MS, firmware="2"),
            one.parsed(Outcome.PARKED, reason="malformed", events=0),
        ],
    )
    brought = three.received(received_ms=NOON_MS + 5, via="gw-1")
    query.write(1, [brought, one.parsed(attempt=2, events=3), two.parsed(Outcome.EMPTY)])

    (row,) = lake.table(DAILY).where("device_id = 'd-daily'").collect()
    counts = (row.messages, row.parsed, row.empty, row.parked, row.malformed)
    assert counts == (3, 1, 1, 0, 0)
    assert (row.firmware, row.lag_messages, row.late_messages) == ("2", 2, 1)
    assert (row.heard_ms, row.gateway_ms) == (NOON_MS + 9, NOON_MS + 5)
    assert (row.lag_ms_sum, row.lag_ms_max) == (2 * HOUR_MS, 2 * HOUR_MS)
    assert (row.events, row.parsed_body_bytes, row.inflated_bytes) == (4, 6, 12)


def test_days_that_an_ended_query_left_uncounted_are_counted_by_the_next(lake: Lake) -> None:
    one, two = (Sent(number=number, device_id="d-left") for number in (313, 314))
    ended = lake.query("left", LakeTables.FLEET)

    ended.write(0, [one.received()])
    ended.batches.write(read(lake.session, [two.received()]), 1)
    (before,) = lake.table(DAILY).where("device_id = 'd-left'").collect()
    lake.query("left", LakeTables.FLEET).batches.count()

    (after,) = lake.table(DAILY).where("device_id = 'd-left'").collect()
    assert (before.messages, after.messages) == (1, 2)


def test_a_days_sums_hold_whatever_clocks_declared(lake: Lake) -> None:
    sent = [Sent(number=number, device_id="d-clock") for number in range(360, 373)]
    ends_ms = [-999_999_999_999_999_999] * 10 + [-(2**63), 2**63 - 1, MILLIS_MIN]
    query = lake.query("clocks", LakeTables.FLEET)

    query.write(
        0,
        [
            *(one.received(end_ms=end_ms) for one, end_ms in zip(sent, ends_ms, strict=True)),
            *(one.parsed(parse_us=2**62) for one in sent[:2]),
        ],
    )

    (row,) = lake.table(DAILY).where("device_id = 'd-clock'").collect()
    assert (row.messages, row.lag_messages, row.late_messages) == (13, 1, 1)
    assert (row.lag_ms_sum, row.lag_ms_max) == (LAG_MS_MAX, LAG_MS_MAX)
    assert (row.parse_us_sum, row.parse_us_max) == (0, 2**62)


def test_an_hour_that_is_over_counts_its_devices_and_what_became_of_them(lake: Lake) -> None:
    at_ms = NOON_MS + 10 * DAY_MS
    by_itself, by_gateway = (
        Sent(number=number, arrival_ms=at_ms, device_id=f"d-{number}", stream="hours")
        for number in (330, 331)
    )
    later = Sent(number=332, arrival_ms=at_ms + HOUR_MS + SETTLED_AFTER_MS, stream="hours")
    query, hours = lake.query("hours", LakeTables.FLEET), LakeHours(lake.session)

    query.write(0, [by_itself.received(), by_gateway.received(via="gw-1"), later.received()])
    query.write(1, [by_itself.parsed(Outcome.PARKED, reason="malformed")])
    query.write(2, [replace(later, number=333, arrival_ms=later.arrival_ms + HOUR_MS).received()])

    assert hours.latest_ms() == at_ms + HOUR_MS
    assert [hour for hour in hours.since(at_ms, ["hours"]) if hour.hour_ms == at_ms] == [
        FlowHour(stream="hours", hour_ms=at_ms, devices=1, concluded=1, parked=1)
    ]


def test_an_outcome_of_an_earlier_day_is_in_its_hour_once_another_hour_is_over(lake: Lake) -> None:
    at_ms = NOON_MS + 16 * DAY_MS
    earlier = Sent(number=350, arrival_ms=at_ms - 2 * DAY_MS, stream="outcomes")
    now = Sent(number=351, arrival_ms=at_ms, stream="outcomes")
    query, hours = lake.query("outcomes", LakeTables.FLEET), LakeHours(lake.session)

    query.write(0, [earlier.received(), now.received()])
    query.write(1, [earlier.parsed(Outcome.PARKED, reason="malformed")])
    query.write(2, [replace(now, number=352, arrival_ms=at_ms + HOUR_MS).received()])

    found = hours.since(earlier.arrival_ms, ["outcomes"])
    assert [hour for hour in found if hour.hour_ms == earlier.arrival_ms] == [
        FlowHour(stream="outcomes", hour_ms=earlier.arrival_ms, devices=1, concluded=1, parked=1)
    ]


@pytest.mark.parametrize(("first_day", "silence_ms"), [(20, HOUR_MS), (30, 6 * HOUR_MS)])
def test_the_last_hours_of_a_day_are_over_on_the_next_however_late_that_begins(
    lake: Lake, first_day: int, silence_ms: int
) -> None:
    last_hour_ms = NOON_MS + first_day * DAY_MS + 11 * HOUR_MS
    stream = f"midnight-{first_day}"
    last = Sent(number=353 + first_day, arrival_ms=last_hour_ms, stream=stream)
    query, hours = lake.query(stream, LakeTables.FLEET), LakeHours(lake.session)

    def counted() -> list[int]:
        return sorted(hour.hour_ms for hour in hours.since(last_hour_ms - HOUR_MS, [stream]))

    before_ms = last_hour_ms - HOUR_MS
    query.write(0, [replace(last, number=last.number + 1, arrival_ms=before_ms).received()])
    query.write(1, [last.received()])
    on_that_day = counted()
    next_ms = last_hour_ms + silence_ms + SETTLED_AFTER_MS
    query.write(2, [replace(last, number=last.number + 2, arrival_ms=next_ms).received()])

    assert on_that_day == []
    assert counted() == [before_ms, last_hour_ms]


def test_a_days_last_hour_is_counted_where_the_query_starts_again_behind_midnight(
    lake: Lake,
) -> None:
    last_hour_ms = NOON_MS + 50 * DAY_MS + 11 * HOUR_MS
    last = Sent(number=410, arrival_ms=last_hour_ms, stream="restarted")
    midnight = replace(last, number=411, arrival_ms=last_hour_ms + HOUR_MS)
    behind = replace(last, number=412, arrival_ms=midnight.arrival_ms + SETTLED_AFTER_MS)
    ended = lake.query("restarted", LakeTables.FLEET)

    ended.write(0, [last.received()])
    ended.write(1, [midnight.received()])
    lake.query("restarted", LakeTables.FLEET).write(2, [behind.received()])

    hours = LakeHours(lake.session).since(last_hour_ms, ["restarted"])
    assert [hour.hour_ms for hour in hours] == [last_hour_ms]


def test_many_days_are_counted_in_turns_newest_first(lake: Lake) -> None:
    days_ms = [NOON_MS + day * DAY_MS for day in range(60, 66)]
    earliest, *sent = (
        Sent(number=420 + n, arrival_ms=days_ms[n], device_id="d-turns") for n in range(6)
    )
    query = lake.query("turns", LakeTables.FLEET)

    def counted() -> int:
        query.batches.count()
        return lake.table(DAILY).where("device_id = 'd-turns'").count()

    query.write(0, [earliest.received()])
    query.batches.write(read(lake.session, [one.received() for one in sent]), 1)

    assert [counted(), counted()] == [1 + DAYS_AT_ONCE, 1 + len(sent)]


def test_what_was_made_up_counts_by_day_and_in_no_hour(lake: Lake) -> None:
    at_ms = NOON_MS + 12 * DAY_MS
    sent, made_up = (
        Sent(number=number, arrival_ms=at_ms, device_id=f"d-{number}", stream="past")
        for number in (340, 341)
    )
    later = Sent(number=342, arrival_ms=at_ms + HOUR_MS + SETTLED_AFTER_MS, stream="past")
    query, hours = lake.query("past", LakeTables.FLEET), LakeHours(lake.session)

    query.write(0, [sent.received(), sent.parsed(), made_up.received(source_topic=MADE_UP)])
    query.write(1, [made_up.parsed(Outcome.PARKED, source_topic=MADE_UP), later.received()])

    assert lake.table(DAILY).where("stream = 'past'").count() == 3
    assert [hour for hour in hours.since(at_ms, ["past"]) if hour.hour_ms == at_ms] == [
        FlowHour(stream="past", hour_ms=at_ms, devices=1, concluded=1, parked=0)
    ]
