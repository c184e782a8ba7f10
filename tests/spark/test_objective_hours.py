"""How flows keep their objectives, by the lake's own job: the rows of ``objectives``."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import orjson
import pytest
from pyspark.sql import SparkSession

from fleetlane.events.job_arguments import LakeTables
from fleetlane.events.lake.tables import EVENTS, OBJECTIVES, REPEATS
from fleetlane.events.times import HOUR_MS, now_ms
from glue_jobs.engine.session import table_name
from glue_jobs.fleet_watch.flow_watch import LakeHours
from tests.known_objectives import FLOWS, Row, Timed, judged, known_messages
from tests.spark.lake_records import NOON_MS, Record, Sent
from tests.spark.lakes import GivenFlows, Lake, lake_in

pytestmark = pytest.mark.spark
COUNTS = ("messages", "late", "late_by_door", "late_by_kafka", "late_by_parser", "late_by_lake")


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> Lake:
    return replace(lake_in(tmp_path, spark), flows=GivenFlows(FLOWS))


def records(topic: str, rows: Iterable[Row]) -> list[Record]:
    written = ({key: row[key] for key in row if key != "day"} for row in rows)
    return [(topic, orjson.dumps(row), ()) for row in written]


def written(lake: Lake, messages: list[Timed]) -> None:
    """As the lake has them, with the times at which their events came into it."""
    lake.prepare(LakeTables.EVENTS)
    there = lake.table(EVENTS).schema
    columns = ", ".join(f"{one.name} {one.dataType.simpleString()}" for one in there)
    for table, some in ((EVENTS, messages[::2]), (REPEATS, messages[1::2])):
        found = (row for sent in some for row in sent.events())
        rows = [tuple(row.get(one.name) for one in there) for row in found]
        events = lake.session.createDataFrame(rows, columns)
        events.writeTo(table_name(lake.session, table)).append()
    received = records("fleet.received", (one.received() for one in messages))
    parsed = records("fleet.parsed", (row for one in messages for row in one.parsed()))
    lake.query("objectives", LakeTables.FLEET).write(0, [*received, *parsed])


def test_hours_that_are_over_are_judged_as_plainly_as_by_hand(lake: Lake) -> None:
    until_ms = NOON_MS + 4 * HOUR_MS + 700_000
    messages = known_messages(seed=2, count=300, since_ms=NOON_MS, until_ms=until_ms)

    written(lake, messages)

    found = {
        (row.stream, row.objective, row.hour_ms): [row[name] for name in COUNTS]
        for row in lake.table(OBJECTIVES).collect()
    }
    assert found == {
        key: [counts[name] for name in COUNTS]
        for key, counts in judged(messages).items()
        if key[2] <= NOON_MS + 3 * HOUR_MS
    }


def test_the_fleet_watch_reads_the_hours_since_a_time(lake: Lake) -> None:
    until_ms = NOON_MS + 2 * HOUR_MS + 700_000
    messages = known_messages(seed=3, count=60, since_ms=NOON_MS, until_ms=until_ms)
    written(lake, messages)

    found = LakeHours(lake.session).objectives_since(NOON_MS + HOUR_MS)

    assert {hour.hour_ms for hour in found} == {NOON_MS + HOUR_MS}
    counts = judged(messages)
    for one in found:
        of_hour = counts[one.stream, one.objective, one.hour_ms]
        assert (one.messages, one.late) == (of_hour["messages"], of_hour["late"])


def test_without_an_objective_no_hour_is_judged(lake: Lake) -> None:
    assert lake.flows is not None
    lake.flows.flows = [flow for flow in FLOWS if flow.objective is None]

    written(lake, known_messages(seed=4, count=20, since_ms=NOON_MS, until_ms=NOON_MS + 5_000_000))

    assert lake.table(OBJECTIVES).count() == 0


def test_an_event_knows_when_it_came_into_the_lake(lake: Lake) -> None:
    sent, before_ms = Sent(number=1), now_ms()

    lake.query("events").write(0, [sent.event()])

    (row,) = lake.rows(EVENTS, sent)
    assert before_ms <= row.lake_ms <= now_ms()
