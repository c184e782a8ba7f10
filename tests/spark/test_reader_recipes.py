"""The example's recipes for events of the lake: windows of event time, and a join by device."""

from datetime import UTC, datetime
from typing import Any, Final

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from readers.recipes import by_window, each_with_latest

pytestmark = pytest.mark.spark

COLUMNS: Final = "id string, device_id string, event_ms long, time_quality string, data string"
MINUTE_MS: Final = 60_000


def events(spark: SparkSession, *rows: tuple[Any, ...]) -> DataFrame:
    """Of a device each, at so many minutes past 1970, with a number as data."""
    return spark.createDataFrame(
        [
            (f"{device}-{minute}-{data}", device, round(minute * MINUTE_MS), quality, f"{data}")
            for device, minute, data, quality in rows
        ],
        COLUMNS,
    )


def joined(events: DataFrame, others: DataFrame) -> dict[str, str | None]:
    rows = each_with_latest(events, others, within_s=600).collect()
    return {row["id"]: row["other_data"] for row in rows}


def test_events_are_counted_and_measured_by_window_of_their_own_time(spark: SparkSession) -> None:
    late_last = (("a", 7, 3, "ok"), ("a", 1, 1, "ok"), ("b", 1, 9, "ok"), ("a", 4.9, 2, "ok"))

    rows = by_window(events(spark, *late_last), F.sum(F.col("data").cast("long")).alias("sum"))

    found = {
        (row["device_id"], row["begins"].replace(tzinfo=UTC).minute): (row["events"], row["sum"])
        for row in rows.collect()
    }
    assert found == {("a", 0): (2, 3), ("a", 5): (1, 3), ("b", 0): (1, 9)}


def test_a_clock_that_is_years_ahead_makes_no_window(spark: SparkSession) -> None:
    rows = by_window(events(spark, ("a", 1, 1, "ok"), ("b", 9_000_000, 1, "future"))).collect()

    assert [(row["device_id"], row["begins"]) for row in rows] == [
        ("a", datetime.fromtimestamp(0))  # noqa: DTZ006 - as Spark gives it
    ]


def test_each_event_has_the_latest_of_the_other_stream_before_it(spark: SparkSession) -> None:
    others = events(spark, ("a", 1, 10, "ok"), ("a", 3, 30, "ok"), ("b", 2, 99, "ok"))

    found = joined(events(spark, ("a", 2, 0, "ok"), ("a", 3, 0, "ok"), ("a", 4, 0, "ok")), others)

    assert found == {"a-2-0": "10", "a-3-0": "30", "a-4-0": "30"}


def test_what_is_older_than_the_limit_or_comes_later_is_not_joined(spark: SparkSession) -> None:
    others = events(spark, ("a", 1, 10, "ok"), ("c", 60, 70, "ok"))

    found = joined(
        events(spark, ("a", 11, 0, "ok"), ("a", 11.1, 0, "ok"), ("c", 2, 0, "ok")), others
    )

    assert found == {"a-11-0": "10", "a-11.1-0": None, "c-2-0": None}


def test_an_event_that_comes_late_changes_only_what_follows_it(spark: SparkSession) -> None:
    ours = events(spark, ("a", 2, 0, "ok"), ("a", 6, 0, "ok"))
    before = joined(ours, events(spark, ("a", 1, 10, "ok")))

    after = joined(ours, events(spark, ("a", 1, 10, "ok"), ("a", 5, 50, "ok")))

    assert (before, after) == ({"a-2-0": "10", "a-6-0": "10"}, {"a-2-0": "10", "a-6-0": "50"})
