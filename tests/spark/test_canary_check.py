"""What the lake's tables say of the canary's messages."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from fleetlane.events import canary
from fleetlane.events.canary import CanaryMessage, messages_of
from fleetlane.events.lake.tables import EVENTS, PARSED, LakeTable
from fleetlane.events.lanes import Lane
from glue_jobs.engine.session import table_name, use_catalog
from glue_jobs.fleet_watch.canary_check import LakeCanaries
from glue_jobs.fleet_watch.flow_watch import LakeUnreadableError
from glue_jobs.lake.main import ensure_table

pytestmark = pytest.mark.spark

SLOT_MS = 1_790_000_040_000
ARRIVAL_MS = SLOT_MS + 300
FAST, STANDARD, LATE, SLOW = messages_of(SLOT_MS)


def session_on(spark: SparkSession, folder: Path) -> SparkSession:
    session = spark.newSession()
    use_catalog(session, warehouse=folder.as_uri(), uri=f"jdbc:sqlite:{folder}/catalog.db")
    return session


@pytest.fixture(scope="module")
def canaries(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> LakeCanaries:
    session = session_on(spark, tmp_path_factory.mktemp("lake"))
    sent = (FAST, STANDARD, SLOW)
    others = {"device_id": "d-1", "raw_id": "1" + "f" * 32}
    add_rows(session, EVENTS, [*map(event_row, sent), event_row(FAST) | others])
    took = {FAST: 700, STANDARD: 90, SLOW: 9_000}
    parsed = [parsed_row(one, took_ms=took_ms) for one, took_ms in took.items()]
    parked = parsed_row(FAST, took_ms=99_000) | {"outcome": "parked"}
    stranger = parsed_row(FAST, took_ms=88_000) | {"device_id": "d-1"}
    add_rows(session, PARSED, [*parsed, parked, stranger])
    return LakeCanaries(session)


def add_rows(session: SparkSession, table: LakeTable, rows: Sequence[Mapping[str, Any]]) -> None:
    ensure_table(session, table)
    schema = session.table(table_name(session, table)).schema
    whole = [{name: row.get(name) for name in table.column_names} for row in rows]
    session.createDataFrame(whole, schema).writeTo(table_name(session, table)).append()


def event_row(message: CanaryMessage) -> dict[str, Any]:
    return {
        "stream": message.stream,
        "day": datetime.fromtimestamp(SLOT_MS / 1_000, UTC).date(),
        "id": f"{message.raw_id}-0",
        "raw_id": message.raw_id,
        "device_id": canary.DEVICE_ID,
        "arrival_ms": ARRIVAL_MS,
        "time_quality": "ok",
        "parser": "json@1",
        "revision": 0,
        "data": "{}",
    }


def parsed_row(message: CanaryMessage, *, took_ms: int) -> dict[str, Any]:
    return {
        "day": datetime.fromtimestamp(SLOT_MS / 1_000, UTC).date(),
        "id": message.raw_id,
        "attempt": 1,
        "device_id": canary.DEVICE_ID,
        "stream": message.stream,
        "lane": message.lane.value,
        "source_topic": "raw",
        "source_partition": 0,
        "source_offset": 0,
        "outcome": "parsed",
        "parsed_ms": ARRIVAL_MS + took_ms,
        "events": 1,
        "parse_us": 1,
        "inflated_bytes": 1,
        "received_ms": ARRIVAL_MS,
    }


def test_messages_of_the_canary_that_are_canonical_and_in_the_lake_have_arrived(
    canaries: LakeCanaries,
) -> None:
    arrived = canaries.arrived(SLOT_MS)

    assert arrived == {one.raw_id for one in (FAST, STANDARD, SLOW)}


def test_what_arrived_before_is_left_out(canaries: LakeCanaries) -> None:
    assert (canaries.arrived(ARRIVAL_MS + 1), canaries.began_ms(ARRIVAL_MS + 1)) == (set(), None)


def test_the_first_message_says_when_the_canary_began(canaries: LakeCanaries) -> None:
    assert canaries.began_ms(SLOT_MS - 1) == ARRIVAL_MS


def test_the_slowest_of_each_lane_counts_only_what_was_parsed(canaries: LakeCanaries) -> None:
    slowest_ms = canaries.slowest_ms(SLOT_MS)

    assert slowest_ms == {Lane.FAST: 700, Lane.STANDARD: 90, Lane.SLOW: 9_000}


def test_without_a_lake_there_is_an_error_of_ours(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(LakeUnreadableError):
        LakeCanaries(session_on(spark, tmp_path)).began_ms(SLOT_MS)
