"""How much each device sent, counted in the JVM from rows of ``fleet.received``."""

from typing import Final

import msgspec
import pytest
from msgspec.structs import replace
from pyspark.sql import Row, SparkSession

from fleetlane.events.lanes import Lane
from fleetlane.events.metadata import Received
from fleetlane.events.times import MILLIS_MAX
from glue_jobs.fleet_watch.batches import activity

pytestmark = pytest.mark.spark

MINUTE_MS: Final = 60_000
AT_MS: Final = 30_000_000 * MINUTE_MS + 10


def received(number: int, *, at_ms: int = AT_MS, via: str | None = None) -> Received:
    return Received(
        id=f"id-{number}",
        device_id="d-1",
        stream="gps",
        lane=Lane.STANDARD,
        source_topic="raw.standard",
        source_partition=0,
        source_offset=number,
        received_ms=at_ms,
        body_bytes=1,
        by_reference=False,
        firmware=f"1.{number}",
        via=via,
    )


def counted(spark: SparkSession, *rows: Received) -> list[Row]:
    values = [(msgspec.json.encode(row),) for row in rows] + [(b"no row of ours",), (None,)]
    records = spark.createDataFrame(values, "value binary")
    return activity(records, window_ms=MINUTE_MS).orderBy("window_ms").collect()


def test_messages_are_counted_by_windows_of_their_arrival(spark: SparkSession) -> None:
    rows = counted(
        spark, received(1), received(2, at_ms=AT_MS + 1), received(3, at_ms=AT_MS + MINUTE_MS)
    )

    assert [(row.device_id, row.stream, row.window_ms, row.messages) for row in rows] == [
        ("d-1", "gps", AT_MS - 10, 2),
        ("d-1", "gps", AT_MS - 10 + MINUTE_MS, 1),
    ]


def test_what_landed_twice_counts_once_and_what_was_sent_again_twice(spark: SparkSession) -> None:
    [row] = counted(spark, received(1), received(1), received(1, at_ms=AT_MS + 5))

    assert row.messages == 2


def test_bytes_are_added_up_but_for_bodies_that_s3_holds(spark: SparkSession) -> None:
    large = replace(received(3), body_bytes=1_000, by_reference=True)

    [row] = counted(spark, received(1), received(2), large)

    assert (row.messages, row.inline_bytes) == (3, 2)


def test_bytes_that_64_bits_do_not_hold_count_as_none(spark: SparkSession) -> None:
    huge = [replace(received(number), body_bytes=2**62) for number in (1, 2)]

    [row] = counted(spark, *huge)

    assert (row.messages, row.inline_bytes) == (2, 0)


@pytest.mark.parametrize("at_ms", [-(2**63), -1, MILLIS_MAX + 1])
def test_an_arrival_that_no_message_can_have_is_left_out(spark: SparkSession, at_ms: int) -> None:
    [row] = counted(spark, received(1), received(2, at_ms=at_ms))

    assert (row.messages, row.seen_ms) == (1, AT_MS)


def test_a_gateway_makes_nobody_look_alive(spark: SparkSession) -> None:
    [row] = counted(
        spark, received(1), received(2, at_ms=AT_MS + 5, via="gw-1"), received(3, at_ms=AT_MS - 5)
    )

    assert (row.messages, row.seen_ms, row.firmware) == (3, AT_MS, "1.1")
